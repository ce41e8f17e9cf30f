import type { HoldReason, Sender, WaitReason } from '../../index.js'
import type { Clock } from '../../platform/clock.js'
import type { Progress } from '../progress.js'

/** Says why nothing moves, beside the progress of a run. */
export type Notices = { stop(): void }

/** What comes and goes is said once in so long, with how often it came. */
const SAID_AGAIN_MS = 60_000
const LOOK_MS = 5_000
/** So many looks without a change: it stands still. */
const STILL_LOOKS = 2

const HOLDS: Partial<Readonly<Record<HoldReason, string>>> = {
  starved: 'The account cannot pay the next one: it goes on as soon as there is money.',
  seeding: 'The counts that the node shows for this account have to settle first.',
  storeBehindChain: 'The journal knows less than the chain: was it put back from a backup? Nothing is sent.',
  storeReplaced:
    'The journal was deleted, moved or replaced while it was open. Nothing more is sent: put the file back, or stop this run.',
}

/** A run has these all the time. */
const USUAL: ReadonlySet<WaitReason['for']> = new Set([
  'block',
  'finality',
  'order',
  'window',
  'receipt',
  'nonce',
])

/**
 * Tells of holds, of endpoints whose answers are of no use, of what only a person can bring about and, where nothing has
 * moved for a while, of what the first transaction waits for. `moved` is any value that changes as the run comes along.
 */
export function createNotices(
  sender: Sender,
  {
    progress,
    clock,
    moved,
  }: { readonly progress: Progress; readonly clock: Clock; readonly moved: () => string },
): Notices {
  const said = new Map<string, { atMs: number; suppressed: number }>()
  // Of what is over something is said only where its beginning was said.
  const open = new Set<string>()
  let last = ''
  let still = 0
  let named: WaitReason['for'] | undefined
  let cancel: (() => void) | undefined

  function begin(key: string, text: string): void {
    const before = said.get(key)
    if (before !== undefined && clock.now() - before.atMs < SAID_AGAIN_MS) {
      before.suppressed++
      return
    }
    const times =
      before === undefined || before.suppressed === 0 ? '' : ` (${before.suppressed} times more meanwhile)`
    said.set(key, { atMs: clock.now(), suppressed: 0 })
    open.add(key)
    progress.say(`${text}${times}`)
  }

  function end(key: string, text: string): void {
    if (open.delete(key)) progress.say(text)
  }

  async function look(): Promise<void> {
    const now = moved()
    still = now === last ? still + 1 : 0
    last = now
    if (still < STILL_LOOKS) {
      named = undefined
      return
    }
    const { waiting, holds } = await sender.snapshot()
    const { head } = waiting
    // Holds, and what only a person can bring about, are told when they begin.
    if (head === undefined || holds.length > 0 || head.operator || head.for === named || USUAL.has(head.for))
      return
    named = head.for
    progress.say(`${head.id}: ${head.sentence}`)
  }

  function plan(): void {
    cancel = clock.setTimer(() => {
      look()
        // Where nothing can be said now, the next look may.
        .catch(() => {})
        .finally(() => {
          if (cancel !== undefined) plan()
        })
    }, LOOK_MS)
  }

  const offs = [
    sender.on('held', ({ reason, detail }) => begin(`hold ${reason}`, holdText(reason, detail))),
    sender.on('released', ({ reason }) =>
      end(`hold ${reason}`, `Over: ${reason}. Transactions are sent again.`),
    ),
    sender.on('endpoint', ({ name, change, said: words, reason }) => {
      const key = `endpoint ${name}`
      if (change === 'failing')
        begin(key, `${name} does not answer usefully${quoted(words)}. It is asked again.`)
      if (change === 'rests') begin(`rest ${name}`, `${name}: ${reason}`)
      if (change === 'answering') end(key, `${name} answers again.`)
    }),
    sender.on('waiting', ({ tx, waitingFor }) =>
      begin(`wait ${waitingFor.for}`, `${tx.id}: ${waitingFor.sentence}`),
    ),
    sender.on('unresolved', ({ tx }) =>
      progress.say(`${tx?.id}: nobody can tell whether it ran; look it up`),
    ),
  ]
  plan()
  return {
    stop() {
      cancel?.()
      cancel = undefined
      for (const off of offs) off()
    },
  }
}

const quoted = (words: string | undefined) => (words === undefined ? '' : `: "${words}"`)

function holdText(reason: HoldReason, detail: string | undefined): string {
  const text = HOLDS[reason] ?? `Nothing new is sent for now (${reason}).`
  return detail === undefined ? text : `${text} ${detail}`
}
