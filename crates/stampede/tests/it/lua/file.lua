-- Sends what a file lists, a path on each line. The script's first argument is the file.
local paths, at = {}, 0

function init(args)
  for line in io.lines(args[1]) do
    paths[#paths + 1] = line
  end
end

function request()
  at = at % #paths + 1
  return wrk.format(nil, paths[at])
end
