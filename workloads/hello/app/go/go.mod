module stampede/hello

go 1.19
