"""Named sessions of hosts: cookies of a tenant, sealed, and the sign-in that renews them."""
