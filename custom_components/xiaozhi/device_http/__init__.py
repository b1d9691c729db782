"""HTTP requests of devices: who may call, bodies of bounded size, addresses that work once."""
