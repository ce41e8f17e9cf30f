import { forkBuilt } from '../support/forkBuilt.js'
import type { Answer, Order } from './protocol.js'

/** The chain's process, as the sender's process sees it. */
export type ChainProcess = {
  readonly url: string
  /** Sends data for the final check. It has no answer. */
  report(order: Order & { type: 'report' }): void
  /** @throws Error if the chain's process failed or ended */
  ask<type extends Answer['type']>(
    order: Exclude<Order, { type: 'report' }>,
    type: type,
  ): Promise<Answer & { type: type }>
  stop(): Promise<void>
}

export async function startChain(seed: number): Promise<ChainProcess> {
  const child = forkBuilt(new URL('chainProcess.ts', import.meta.url), [String(seed)], {
    serialization: 'advanced',
    // A process group of its own: Ctrl-C in the terminal ends the run, but the check after it needs the
    // chain.
    detached: true,
  })
  const waiting: { resolve(answer: Answer): void; reject(error: Error): void }[] = []
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.on('message', (answer: Answer) => waiting.shift()?.resolve(answer))
  child.once('exit', (code) => {
    for (const { reject } of waiting.splice(0)) reject(new Error(`the chain's process ended with ${code}`))
  })

  async function next<type extends Answer['type']>(type: type): Promise<Answer & { type: type }> {
    const answer = await new Promise<Answer>((resolve, reject) => waiting.push({ resolve, reject }))
    if (answer.type === 'failed') throw new Error(`the chain's process failed: ${answer.why}`)
    if (answer.type !== type) throw new Error(`the chain's process answered ${answer.type}, not ${type}`)
    return answer as Answer & { type: type }
  }

  const { url } = await next('ready')
  return {
    url,
    report: (order) => void child.send(order),
    ask(order, type) {
      const answer = next(type)
      child.send(order)
      return answer
    },
    async stop() {
      if (child.connected) child.disconnect()
      await ended
    },
  }
}
