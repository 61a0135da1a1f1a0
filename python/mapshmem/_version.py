# SPDX-License-Identifier: BSD-3-Clause
"""The version of the package, which is that of the library it was written for."""

__version__ = "0.2.0"
