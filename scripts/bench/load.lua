-- Script for wrk: the request that it sends, and the line of JSON that it reports. Its argument is the request body.

function init(args)
  wrk.method = 'POST'
  wrk.headers['content-type'] = 'application/json'
  wrk.body = args[1]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"p50":%.3f,"p99":%.3f,"badStatus":%d,"socketErrors":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    e.status, e.connect + e.read + e.write + e.timeout))
end
