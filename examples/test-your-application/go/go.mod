module example.org/summary

go 1.22
