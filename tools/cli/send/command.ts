import { answer } from '../shared/program.js'
import { dryRun } from './dryRun.js'
import { readErrand } from './errand.js'
import { parseSend } from './options.js'
import { sendAll } from './sendAll.js'

type Environment = Readonly<Record<string, string | undefined>>

/** `txlane send`: sends each payment of a file once. */
export function send(argv: readonly string[], environment: Environment): Promise<number> {
  return answer(parseSend(argv, environment), 'txlane send', async (options) => {
    const errand = await readErrand(options, environment)
    return options.dryRun ? dryRun(errand) : sendAll(errand)
  })
}
