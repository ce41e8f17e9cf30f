import { createColors } from 'picocolors'
import { openServer } from '../test/sweep/place.js'
import { runService } from '../test/cluster/service/run.js'
import { renderService } from '../test/cluster/service/result.js'
await using place = await openServer('service', undefined)
const n = Number(process.argv[2] ?? 400)
const result = await runService({ processes: 3, keys: 4, requests: n, kills: 1, stops: 0, ends: 1, database: true, seed: 5 }, place, (line) => console.error(line))
console.log(renderService(result, createColors(false)))
process.exit(0)
