# SPDX-License-Identifier: BSD-3-Clause
#
# Debug information (DWARF 4) as compilers of Rust write it for a type whose members depend on one of them:
#   enum choice { ... } of 16 bytes, and struct holder { long n; choice c; }

	.section .debug_abbrev,"",@progbits
	.uleb128 1, 0x11		# compile unit
	.byte 1
	.uleb128 0x13, 0x05, 0x03, 0x08, 0, 0	# language, name
	.uleb128 2, 0x13		# structure
	.byte 1
	.uleb128 0x03, 0x08, 0x0b, 0x0b, 0, 0	# name, size
	.uleb128 3, 0x33		# variant part
	.byte 1
	.uleb128 0, 0
	.uleb128 4, 0x19		# variant
	.byte 1
	.uleb128 0, 0
	.uleb128 5, 0x0d		# member
	.byte 0
	.uleb128 0x03, 0x08, 0x49, 0x13, 0x38, 0x0b, 0, 0 # name, type, place
	.uleb128 6, 0x24		# base type
	.byte 0
	.uleb128 0x03, 0x08, 0x0b, 0x0b, 0x3e, 0x0b, 0, 0 # name, size, encoding
	.byte 0

	.section .debug_info,"",@progbits
start:
	.long end - after
after:
	.value 4
	.long .debug_abbrev
	.byte 8
	.uleb128 1
	.value 0x1c
	.asciz "variant.rs"
number:
	.uleb128 6
	.asciz "i64"
	.byte 8, 5
choice:
	.uleb128 2
	.asciz "choice"
	.byte 16
	.uleb128 3
	.uleb128 4
	.uleb128 5
	.asciz "a"
	.long number - start
	.byte 8
	.byte 0, 0, 0			# of variant, variant part, choice
	.uleb128 2
	.asciz "holder"
	.byte 24
	.uleb128 5
	.asciz "n"
	.long number - start
	.byte 0
	.uleb128 5
	.asciz "c"
	.long choice - start
	.byte 8
	.byte 0				# of holder
	.byte 0				# of the unit
end:
	.section .note.GNU-stack,"",@progbits
