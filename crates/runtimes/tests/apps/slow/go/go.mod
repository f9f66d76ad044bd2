module stampede/slow

go 1.19
