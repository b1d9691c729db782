"""The XiaoZhi device protocol, free of Home Assistant."""
