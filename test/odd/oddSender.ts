import type { Client } from 'viem'
import * as runtime from '../../src/api/runtime.js'
import { createSenderIn } from '../../src/api/sender/sender.js'
import { createShared, type Environment } from '../../src/chain/environment.js'
import { eventNames } from '../../src/lane/emitter.js'
import type { Random } from '../../src/platform/clock.js'
import type { Sender } from '../../src/types/index.js'
import type { Process } from '../sim/process.js'
import { createSimClient, simSignatures } from '../sim/simClient.js'
import type { Subject } from '../sim/subjectTypes.js'
import type { ChainKind } from './chainKinds.js'
import type { Watch } from './watch.js'

/** Called for each event of the sender. */
export type OnEvent = (event: string, payload: Readonly<Record<string, unknown>>) => void

/** The real sender on the machine of one process, and the part of it that a workload uses. */
export type OddSender = { readonly sender: Sender; readonly subject: Subject }

type Calls = Pick<Watch, 'rejected' | 'askedAgain'>

export function createOddSender(options: {
  readonly process: Process
  readonly random: Random
  readonly kind: ChainKind
  readonly chainId: number
  readonly onEvent: OnEvent
  /** Notified of each call of `send`, and of its failure. */
  readonly calls: Calls
}): OddSender {
  const { process, random, kind, chainId, onEvent, calls } = options
  const { clock, ports, account, store } = process
  const environment: Environment = {
    clock,
    random,
    portsOf: () => ports,
    runtime: () => runtime,
    signatures: simSignatures,
    shared: createShared(),
  }
  const [{ port }] = ports as [(typeof ports)[number]]
  const client = createSimClient({ port, chainId, account }) as unknown as Client as never
  const sender = createSenderIn(environment, {
    client,
    store,
    lossDepth: kind.lossDepth,
  }) as unknown as Sender
  for (const event of eventNames)
    sender.on(event, (payload) => onEvent(event, payload as unknown as Record<string, unknown>))
  return { sender, subject: subjectOf(sender, calls) }
}

function subjectOf(sender: Sender, calls: Calls): Subject {
  return {
    ready: sender.ready,
    send(request, options) {
      const id = options?.id ?? ''
      calls.askedAgain(id)
      return sender.send(request as never, options as never).catch((error: unknown) => {
        calls.rejected(id)
        throw error
      }) as never
    },
    sendSequence: (requests, options) => sender.sendSequence(requests as never, options as never) as never,
    get: (by) => sender.get(by) as never,
    reserve: () => Promise.reject(new Error('no allocator in these worlds')),
    onAlarm() {},
    resume: sender.resume,
    resolve: sender.resolve,
    drain: () => sender.drain(),
    close: sender.close,
  }
}
