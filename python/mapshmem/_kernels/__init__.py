# SPDX-License-Identifier: BSD-3-Clause
"""For kernels: other PEs' copies, views, and the calls that communicate."""
