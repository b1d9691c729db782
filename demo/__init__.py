"""A Home Assistant with local speech and a simulated XiaoZhi, to try and to test the integration."""
