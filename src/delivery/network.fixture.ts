import { createChance } from './chance.fixture.js'
import type { NetworkOptions } from './networkOptions.fixture.js'
import { createNode } from './node.fixture.js'
import type { SendAnswer } from './settle.js'
import { createVirtualTime } from './virtualTime.fixture.js'

export { type Faults, type NetworkOptions, NO_FAULTS } from './networkOptions.fixture.js'

export type Reply =
  | { readonly end: 'answers'; readonly answers: readonly SendAnswer[]; readonly count: number | undefined }
  | { readonly end: 'batchRefused' }
  | { readonly end: 'failed' }

/** A client's way to a node and back. */
export function createNetwork(options: NetworkOptions) {
  const { faults } = options
  const time = createVirtualTime()
  const chance = createChance(options)
  const { happens, lose, losses, random, wayMs } = chance
  const node = createNode(options, time, chance)
  let rounds = 0

  /** Processes one call after the other, interleaved with other requests. */
  function serve(nonces: readonly number[], withCount: boolean, done: (reply: Reply) => void): void {
    const answers: SendAnswer[] = []
    const step = (): void => {
      const nonce = nonces[answers.length]
      if (nonce !== undefined) {
        answers.push(node.receive(nonce))
        time.at(options.callMs, step)
        return
      }
      done({ end: 'answers', answers, count: withCount ? node.count() : undefined })
    }
    step()
  }

  function request(nonces: readonly number[], withCount: boolean, ended: (reply: Reply) => void): void {
    rounds++
    let isOver = false
    const end = (reply: Reply) => {
      if (isOver) return
      isOver = true
      cancel()
      ended(reply)
    }
    const cancel = time.at(options.timeoutMs, () => end({ end: 'failed' }))
    if (happens(faults.unavailable)) {
      lose(nonces.length)
      time.at(2 * wayMs(), () => end({ end: 'failed' }))
      return
    }
    if (nonces.length + Number(withCount) > options.batchMax) {
      time.at(2 * wayMs(), () => end({ end: options.batchRefusal === 'said' ? 'batchRefused' : 'failed' }))
      lose(nonces.length)
      return
    }
    if (happens(faults.requestLost)) return lose(nonces.length)
    const arrive = () =>
      serve(nonces, withCount, (reply) => {
        if (happens(faults.answerLost)) return lose(nonces.length)
        time.at(wayMs(nonces.length), () => end(reply))
      })
    time.at(wayMs(nonces.length), arrive)
    if (happens(faults.duplicated)) time.at(wayMs() + random() * 100, arrive)
  }

  return {
    request,
    restart: node.restart,
    follow: node.follow,
    at: time.at,
    /** Runs until `isDone`. Returns false if that is not reached by `limitMs`. */
    run: time.run,
    get nowMs() {
      return time.nowMs
    },
    get sealed() {
      return node.sealed
    },
    /** Requests that left the client. */
    get requests() {
      return rounds
    },
    losses,
  }
}

export type Network = ReturnType<typeof createNetwork>
