import { createClient, http, padHex, toHex } from 'viem'
import { createLanes, memoryStore } from '../../src/index.js'
import { createStubAccount } from '../../test/sim/stubAccount.js'
import { startNodeProxy } from '../../test/support/nodeProxy.js'
import { atMost, type Claim, medianOf } from '../claim.js'
import { heapBytes } from '../support/heap.js'
import { chainOf } from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'

const HEAP = 'heap for each idle lane'
const SUBJECT = 'txlane'
const KIB = 1_024
const WATCHED_MS = 1_000

type Idle = { readonly bytes: number; readonly timers: number; readonly requests: number }

export const claim: Claim = {
  says: 'A lane without work costs next to nothing, so that a process can have one for every key.',
  transactions: 10_000,
  async run({ rounds, transactions: count, say }) {
    const accounts = Array.from({ length: count }, (_, index) =>
      createStubAccount(padHex(toHex(index + 1), { size: 20 })),
    )
    const { values, failures } = await takeTurns({
      subjects: [{ name: SUBJECT }],
      rounds,
      run: () => openAll(accounts),
      show: ({ bytes, timers, requests }) =>
        `${Math.round(bytes)} bytes each, ${timers} timers and ${requests} requests in all`,
      say,
    })
    const of = (what: keyof Idle) => (values.get(SUBJECT) ?? []).map((idle) => idle[what])
    const figures = [
      ...figuresOf({ measure: HEAP, unit: 'KiB, without the account' }, [
        [SUBJECT, of('bytes').map((bytes) => bytes / KIB)],
      ]),
      ...figuresOf({ measure: 'timers set', unit: 'by all lanes' }, [[SUBJECT, of('timers')]]),
      ...figuresOf({ measure: 'HTTP requests', unit: 'by all lanes' }, [[SUBJECT, of('requests')]]),
    ]
    return {
      figures,
      checks: [
        atMost('KiB for each', medianOf(figures, HEAP, SUBJECT), 2),
        atMost('timers set by all of them', medianOf(figures, 'timers set', SUBJECT), 0),
        atMost('requests by all of them', medianOf(figures, 'HTTP requests', SUBJECT), 0),
      ],
      notes: [`${count} lanes in one process, from createLanes, watched for a second.`, ...failures],
    }
  },
}

async function openAll(accounts: readonly ReturnType<typeof createStubAccount>[]): Promise<Idle> {
  // No node listens there: the lanes must not send a request.
  await using proxy = await startNodeProxy('http://127.0.0.1:9')
  const chain = chainOf(proxy.url)
  const client = createClient({ chain, transport: http(proxy.url) })
  const lanes = createLanes({ chains: [{ client }], store: memoryStore() })
  const chainId = chain.id
  const before = await heapBytes()
  using timers = watchTimers()
  for (const account of accounts) lanes.sender({ chainId, account })
  const bytes = ((await heapBytes()) - before) / accounts.length
  await timers.pause(WATCHED_MS)
  const idle = { bytes, timers: timers.set(), requests: proxy.take().requests }
  await lanes.close()
  return idle
}

type Globals = Pick<typeof globalThis, 'setTimeout' | 'setInterval' | 'setImmediate'>

/** Counts every timer that is set, including unreferenced ones, until it is disposed. */
export function watchTimers(): Disposable & {
  set(): number
  /** A pause whose timer is not counted. */
  pause(timeMs: number): Promise<void>
} {
  const { setTimeout, setInterval, setImmediate } = globalThis
  const real: Globals = { setTimeout, setInterval, setImmediate }
  let set = 0
  function counted<t extends (...args: never[]) => unknown>(timer: t): t {
    const wrapped = (...args: Parameters<t>) => {
      set++
      return timer(...args)
    }
    return Object.assign(wrapped, timer) as unknown as t
  }
  Object.assign(globalThis, {
    setTimeout: counted(setTimeout),
    setInterval: counted(setInterval),
    setImmediate: counted(setImmediate),
  })
  return {
    set: () => set,
    pause: (timeMs) => new Promise((resolve) => void real.setTimeout(resolve, timeMs)),
    [Symbol.dispose]: () => void Object.assign(globalThis, real),
  }
}
