-- Pages by their weights, in a fixed order.
local pages = { { "/", 3 }, { "/list?page=2", 2 }, { "/item/7", 1 } }
local order, at = {}, 0
for _, page in ipairs(pages) do
  for _ = 1, page[2] do
    order[#order + 1] = page[1]
  end
end

request = function()
  at = at % #order + 1
  return wrk.format("GET", order[at])
end
