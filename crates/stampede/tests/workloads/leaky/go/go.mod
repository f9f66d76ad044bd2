module stampede/leaky

go 1.19
