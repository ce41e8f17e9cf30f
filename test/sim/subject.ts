import type { Client } from 'viem'
import { createNonceAllocatorIn, type NonceAllocator } from '../../src/sender/allocator.js'
import { createShared, type Environment } from '../../src/sender/environment.js'
import { createSenderIn } from '../../src/sender/sender.js'
import { createSimClient } from './simClient.js'
import type { CreateSubject } from './subjectTypes.js'

// Worlds are short: what takes its time for the sake of people has to come within one.
const LIMITS = { reservationTtlMs: 8_000, reorgHorizon: 12 }

/** The sender under test: the one place where it is wired to the simulated world. */
export const createSubject: CreateSubject = (world) => {
  const { clock, random, probe, ports, account, store, chainId, lossDepth } = world
  const environment: Environment = { clock, random, probe, portsOf: () => ports, shared: createShared() }
  const [{ port }] = ports as [(typeof ports)[number]]
  const client = createSimClient({ port, chainId, account }) as unknown as Client as never
  const options = { client, store, lossDepth, limits: LIMITS }
  const sender = createSenderIn(environment, options)
  let allocator: NonceAllocator | undefined

  return {
    ready: sender.ready,
    send: sender.send,
    get: sender.get,
    drain: sender.drain,
    reserve() {
      allocator ??= createNonceAllocatorIn(environment, { ...options, address: account.address })
      return allocator.reserve()
    },
    onAlarm(listener) {
      sender.on('held', ({ reason }) => listener({ kind: 'held', reason }))
      sender.on('unresolved', ({ tx }) => tx && listener({ kind: 'unresolved', id: tx.id }))
    },
    resume: sender.resume,
    resolve: sender.resolve,
    async close() {
      // Together: the lane stops with the last of the two.
      await Promise.all([sender.close(), allocator?.close()])
    },
  }
}
