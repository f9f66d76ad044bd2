module stillborn

go 1.19
