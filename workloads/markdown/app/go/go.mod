module stampede/markdown

go 1.19

require github.com/yuin/goldmark v1.7.8
