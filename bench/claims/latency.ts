import { atMost, type Claim, ratioOf } from '../claim.js'
import { ONE_BY_ONE, type OneByOne, txlaneNative, txlaneViemKey, viemOneByOne } from '../subjects/oneByOne.js'
import { type Child, disposeAll, startChild } from '../support/children.js'
import type { Order, Sample } from '../support/latencyProcess.js'
import { type Fresh, freshAccount, type Node, requireOnce, startNode } from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf, spreadOf } from '../support/spread.js'

// Blocks come every 200 ms, so the work of the previous transfer has ended by then.
const IDLE_MS = 450
/**
 * By then V8 has compiled the code of a send: measured, 1,000 sends nearly suffice and 300 do not. V8 drops
 * much of that code when the first nonces become final, 64 blocks later (40 functions, seen with
 * --trace-deopt), and compiles it again.
 */
const WARM_UP: readonly Order[] = [
  { count: 2_000, idleMs: 0 },
  { count: 1, idleMs: 15_000 },
  { count: 2_000, idleMs: 0 },
]
const WARM_UP_SENDS = WARM_UP.reduce((sum, { count }) => sum + count, 0)
const SENDING = 'from the call to the bytes handed over'
const WRITING = 'from the call to the bytes written'
const SIGNING = 'signing alone'

type Subject = {
  readonly name: string
  readonly sends: OneByOne
  /** A new process without earlier sends, in every round. */
  readonly fresh?: true
}

const WARM: Subject = { name: txlaneViemKey.name, sends: txlaneViemKey }
const SUBJECTS: readonly Subject[] = [
  WARM,
  { name: `${txlaneViemKey.name}, the first of a process`, sends: txlaneViemKey, fresh: true },
  { name: txlaneNative.name, sends: txlaneNative },
  { name: viemOneByOne.name, sends: viemOneByOne },
]

export const claim: Claim = {
  says: 'An idle lane adds little to the time that signing takes.',
  transactions: 20,
  async run(context) {
    await using node = await startNode()
    await using lanes = createLanes(node)
    const { values, failures } = await takeTurns({
      subjects: SUBJECTS,
      rounds: context.rounds,
      // Each process has its own warm-up.
      warmUps: 0,
      run: (subject) => lanes.send(subject, { count: context.transactions, idleMs: IDLE_MS }),
      show: (samples) =>
        `${spreadOf(samples.map(({ sendingMs }) => sendingMs))?.median.toFixed(3)} ms, median`,
      say: context.say,
    })
    const label = { unit: 'ms, of all samples' }
    const samples = (of: (sample: Sample) => number) =>
      [...values].map(([name, rounds]) => [name, rounds.flat().map(of)] as const)
    const figures = [
      ...figuresOf(
        { ...label, measure: SENDING },
        samples(({ sendingMs }) => sendingMs),
      ),
      ...figuresOf(
        { ...label, measure: WRITING },
        samples(({ writingMs }) => writingMs),
      ),
      ...figuresOf(
        { ...label, measure: SIGNING },
        samples(({ signingMs }) => signingMs),
      ),
    ]
    const ratio = ratioOf(figures, SENDING, WARM.name, { subject: WARM.name, measure: SIGNING })
    return {
      figures,
      checks: [atMost("times the time of signing with viem's privateKeyToAccount, medians", ratio, 1.2)],
      notes: [
        "Handed over means to undici's dispatcher for txlane, and to fetch for viem. The rest until the socket is the time of those, half a second after the previous request.",
        'Gas and fees are given, and no transaction is in flight. The same account signs a similar transfer alone before every send.',
        `Each subject has its own process, with a sender that stays open; ${WARM_UP_SENDS} transfers in sequence, until the first ones are final and beyond, warm it up. The first sends of a process come from a new process in each round, in which V8 has compiled neither the signing nor the rest.`,
        ...failures,
      ],
    }
  },
}

type Lane = { readonly child: Child; readonly account: Fresh; sent: number }

/** The sending processes, each with its own key. */
function createLanes(node: Node) {
  const warm = new Map<Subject, Lane>()
  let opened = 0

  async function open({ sends }: Subject): Promise<Lane> {
    const account = await freshAccount(node, `latency ${++opened}`)
    const place = String(ONE_BY_ONE.indexOf(sends))
    const program = new URL('../support/latencyProcess.ts', import.meta.url)
    return { child: startChild(program, [place, node.url, account.privateKey]), account, sent: 0 }
  }

  async function openWarm(subject: Subject): Promise<Lane> {
    const lane = await open(subject)
    warm.set(subject, lane)
    for (const order of WARM_UP) await sendWith(lane, order)
    return lane
  }

  /** Discards the lane, because the number of its transfers is unknown now. */
  async function giveUp(subject: Subject): Promise<void> {
    const lane = warm.get(subject)
    warm.delete(subject)
    await lane?.child.kill()
  }

  async function sendFresh(subject: Subject, order: Order): Promise<readonly Sample[]> {
    const lane = await open(subject)
    try {
      return await sendWith(lane, order)
    } finally {
      await lane.child[Symbol.asyncDispose]()
    }
  }

  async function sendWarm(subject: Subject, order: Order): Promise<readonly Sample[]> {
    try {
      return await sendWith(warm.get(subject) ?? (await openWarm(subject)), order)
    } catch (error) {
      await giveUp(subject)
      throw error
    }
  }

  async function sendWith(lane: Lane, order: Order): Promise<readonly Sample[]> {
    const samples = (await lane.child.ask(order)) as readonly Sample[]
    lane.sent += order.count
    await requireOnce(node, lane.account, lane.sent)
    return samples
  }

  return {
    send: (subject: Subject, order: Order) =>
      subject.fresh ? sendFresh(subject, order) : sendWarm(subject, order),
    [Symbol.asyncDispose]: () => disposeAll([...warm.values()].map(({ child }) => child)),
  }
}
