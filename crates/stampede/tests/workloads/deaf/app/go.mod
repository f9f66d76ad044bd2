module deaf

go 1.19
