import { HONEST, tokenOf } from './callers.js'
import { type Accepted, request, type Wanted, wantedOf } from './requests.js'

/** The requests of the honest callers. */
export type Load = {
  readonly wanted: readonly Wanted[]
  /** The finished share, from 0 to 1. */
  readonly share: number
  /** Counts of answers, each try included. */
  readonly answers: ReadonlyMap<string, number>
  /** Resolves once each request was accepted or given up. */
  readonly accepted: Promise<readonly Accepted[]>
}

/** Concurrent requests of each caller. */
const AT_ONCE = 8

export function startLoad(options: {
  readonly requests: number
  readonly seed: number
  readonly urls: readonly string[]
  readonly failed: (why: string) => void
}): Load {
  const { requests, seed, urls, failed } = options
  const accepted: Accepted[] = []
  const answers = new Map<string, number>()
  let over = 0
  const queues = HONEST.map((name) =>
    Array.from({ length: Math.ceil(requests / HONEST.length) }, (_, index) =>
      wantedOf({ name, token: tokenOf(name) }, seed, index),
    ),
  )
  const wanted = queues.flat()
  const count = (answer: string) => void answers.set(answer, (answers.get(answer) ?? 0) + 1)

  async function work(queue: Wanted[], first: number): Promise<void> {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
      try {
        accepted.push(await request(one, urls, first, count))
      } catch (error) {
        failed(`not accepted: ${(error as Error).message}`)
      }
      over++
    }
  }

  const lines = queues.flatMap((queue) => Array.from({ length: AT_ONCE }, (_, line) => work(queue, line)))
  return {
    wanted,
    answers,
    get share() {
      return over / wanted.length
    },
    accepted: Promise.all(lines).then(() => accepted),
  }
}
