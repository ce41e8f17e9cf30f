import type { Hex } from 'viem'
import { forkBuilt } from '../../test/support/forkBuilt.js'
import { pause } from '../../test/support/pause.js'
import { letGo } from './children.js'
import type { Answer, Order } from './flashProtocol.js'

/** A devnet at its natural cadence, in a process of its own, that knows when each transaction could be seen. */
export type FlashChain = AsyncDisposable & {
  /** Behind a proxy that counts. */
  readonly url: string
  /** Past the proxy. */
  readonly directUrl: string
  visibleAtMs(hash: Hex): Promise<number>
  polls(): Promise<number>
}

// A transaction can be waited for before the process that shows it has written down when.
const LOOKS_MAX = 200
const LOOK_MS = 20

export async function startFlashChain(): Promise<FlashChain> {
  const child = forkBuilt(new URL('flashProcess.ts', import.meta.url))
  const waiting: { resolve(answer: Answer): void; reject(error: Error): void }[] = []
  child.on('message', (answer: Answer) => waiting.shift()?.resolve(answer))
  child.once('exit', (code) => {
    for (const { reject } of waiting.splice(0)) reject(new Error(`the chain's process ended with ${code}`))
  })

  async function next<type extends Answer['type']>(type: type): Promise<Answer & { type: type }> {
    const answer = await new Promise<Answer>((resolve, reject) => waiting.push({ resolve, reject }))
    if (answer.type !== type) throw new Error(`the chain's process answered ${answer.type}, not ${type}`)
    return answer as Answer & { type: type }
  }

  function ask<type extends Order['type']>(order: Order & { type: type }) {
    const answer = next(order.type)
    child.send(order)
    return answer
  }

  const { url, directUrl } = await next('ready')
  return {
    url,
    directUrl,
    async visibleAtMs(hash) {
      for (let left = LOOKS_MAX; left > 0; left--) {
        const { atMs } = await ask({ type: 'visible', hash })
        if (atMs !== undefined) return atMs
        await pause(LOOK_MS)
      }
      throw new Error(`${hash} was in no block`)
    },
    polls: async () => (await ask({ type: 'polls' })).count,
    [Symbol.asyncDispose]: () => letGo([child]),
  }
}
