-- As many requests together as the script's first argument says.
local together

function init(args)
  local each = {}
  for number = 1, tonumber(args[1]) or 1 do
    each[number] = wrk.format(nil, "/plaintext")
  end
  together = table.concat(each)
end

function request()
  return together
end
