import type { Client } from 'viem'
import { createNonceAllocatorIn, type NonceAllocator } from '../../src/api/allocators/allocator.js'
import * as runtime from '../../src/api/runtime.js'
import { createSenderIn } from '../../src/api/sender/sender.js'
import { createShared, type Environment } from '../../src/chain/environment.js'
import { RECEIPT_WITHIN } from '../../src/lane/transaction/txInternals.js'
import { createSimClient, simSignatures } from './simClient.js'
import type { CreateSubject, Subject } from './subjectTypes.js'

// Worlds are short, so limits for humans and operators are reduced to fit into one.
const LIMITS = { reservationTtlMs: 8_000, evidencePatienceMs: 30_000 }
const REORG_HORIZON = 12
// Twelve fast blocks are fewer than a reorg of a stalled endpoint's blocks.
const REORG_HORIZON_FAST = 64
const FAST_MS = 1_000

/** The sender under test: the only place where it is wired to the simulated world. */
export const createSubject: CreateSubject = (world) => {
  const { clock, random, probe, ports, account, store, chainId, lossDepth, settings } = world
  const environment: Environment = {
    clock,
    random,
    probe,
    portsOf: () => ports,
    runtime: () => runtime,
    signatures: simSignatures,
    shared: createShared(),
  }
  const [{ port }] = ports as [(typeof ports)[number]]
  const client = createSimClient({ port, chainId, account }) as unknown as Client as never
  const reorgHorizon = settings.blockTimeMs < FAST_MS ? REORG_HORIZON_FAST : REORG_HORIZON
  const { finality } = world
  const options = { client, store, lossDepth, finality, limits: { ...LIMITS, reorgHorizon } }
  const sender = createSenderIn(environment, { ...options, broadcast: world.broadcast })
  sender.on('endpoint', ({ change }) => {
    if (change === 'reader') world.strike('readerMoved')
  })
  const alarms: Parameters<Subject['onAlarm']>[0][] = []
  let allocator: NonceAllocator | undefined

  function openAllocator(): NonceAllocator {
    if (allocator !== undefined) return allocator
    allocator = createNonceAllocatorIn(environment, { ...options, address: account.address })
    allocator.on('held', ({ reason }) => {
      for (const alarm of alarms) alarm({ kind: 'held', reason })
    })
    return allocator
  }

  return {
    ready: sender.ready,
    send(request, { receiptWithinMs, ...options }) {
      const waits = receiptWithinMs === undefined ? {} : { [RECEIPT_WITHIN]: receiptWithinMs }
      return sender.send(request, { ...options, ...waits })
    },
    sendSequence: (requests, options) => sender.sendSequence(requests as never, options as never),
    get: sender.get,
    drain: sender.drain,
    async reserve() {
      // An allocator opens the lane with one broadcast mode, and would then refuse a sender with another.
      if (world.broadcast === 'all') await sender.ready()
      return openAllocator().reserve()
    },
    onAlarm(listener) {
      alarms.push(listener)
      sender.on('held', ({ reason }) => listener({ kind: 'held', reason }))
      sender.on('unresolved', ({ tx }) => tx && listener({ kind: 'unresolved', id: tx.id }))
    },
    resume() {
      // Either of the two may have opened the lane.
      sender.resume()
      allocator?.resume()
    },
    resolve: sender.resolve,
    async close() {
      // Closed together, because the lane stops with the last of the two.
      await Promise.all([sender.close(), allocator?.close()])
    },
  }
}
