import type { HoldReason, Sender, WaitReason } from '../../../../src/index.js'
import type { Clock } from '../../../../src/platform/clock.js'
import type { Progress } from '../../shared/progress.js'

/** Prints the reasons of a stalled run, beside its progress. */
export type Notices = { stop(): void }

/** A repeated notice is printed once in this time, with the number of repeats. */
const SAID_AGAIN_MS = 60_000
const LOOK_MS = 5_000
const SETTLING_MS = 10_000
/** Number of looks without a change after which the run counts as stalled. */
const STILL_LOOKS = 2

const RELEASES: Partial<Readonly<Record<HoldReason, string>>> = {
  starved: 'The account has enough funds: sending resumes.',
  seeding: "The node's counts agree: sending begins.",
}

const HOLDS: Partial<Readonly<Record<HoldReason, string>>> = {
  starved: 'The account cannot pay the next transaction: sending resumes as soon as it has enough funds.',
  seeding: "The node's counts for this account have to settle first.",
  storeBehindChain: 'The journal is behind the chain: was it restored from a backup? No transaction is sent.',
  storeReplaced:
    'The journal was deleted, moved or replaced while it was open. No further transaction is sent: restore the file, or stop this run.',
}

/** Usual wait reasons of a healthy run, which are not reported. */
const USUAL: ReadonlySet<WaitReason['for']> = new Set([
  'block',
  'finality',
  'order',
  'window',
  'receipt',
  'nonce',
])

/**
 * Prints holds, failing endpoints and waits that need an operator. If the run makes no progress for a while,
 * it also prints the wait reason of the first transaction. `moved` returns any value that changes with the
 * progress.
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
  // The end of a condition is only reported if its start was reported.
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
      before === undefined || before.suppressed === 0 ? '' : ` (${before.suppressed} more times since)`
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
    // Holds, and waits that need an operator, are reported when they begin.
    if (head === undefined || holds.length > 0 || head.operator || head.for === named || USUAL.has(head.for))
      return
    named = head.for
    progress.say(`${head.id}: ${head.sentence}`)
  }

  function plan(): void {
    cancel = clock.setTimer(() => {
      look()
        // A failed look is ignored: the next one may succeed.
        .catch(() => {})
        .finally(() => {
          if (cancel !== undefined) plan()
        })
    }, LOOK_MS)
  }

  let cancelSettling = () => {}

  const offs = [
    sender.on('held', ({ reason, detail }) => {
      const report = () => begin(`hold ${reason}`, holdText(reason, detail))
      // Every run of an account that has sent before waits a few seconds for this.
      if (reason === 'seeding') cancelSettling = clock.setTimer(report, SETTLING_MS)
      else report()
    }),
    sender.on('released', ({ reason }) => {
      if (reason === 'seeding') cancelSettling()
      end(`hold ${reason}`, RELEASES[reason] ?? `No longer held (${reason}): sending resumes.`)
    }),
    sender.on('endpoint', ({ name, change, said: words, reason }) => {
      const key = `endpoint ${name}`
      if (change === 'failing')
        begin(key, `${name} does not answer usefully${quoted(words)}. Requests are retried.`)
      if (change === 'rests') begin(`rest ${name}`, `${name}: ${reason}`)
      if (change === 'answering') end(key, `${name} answers again.`)
    }),
    sender.on('waiting', ({ tx, waitingFor }) =>
      begin(`wait ${waitingFor.for}`, `${tx.id}: ${waitingFor.sentence}`),
    ),
    sender.on('unresolved', ({ tx }) =>
      progress.say(`${tx?.id}: it is unknown whether it was executed; an operator has to check`),
    ),
  ]
  plan()
  return {
    stop() {
      cancel?.()
      cancel = undefined
      cancelSettling()
      for (const off of offs) off()
    },
  }
}

const quoted = (words: string | undefined) => (words === undefined ? '' : `: "${words}"`)

function holdText(reason: HoldReason, detail: string | undefined): string {
  const text = HOLDS[reason] ?? `No new transaction is sent for now (${reason}).`
  return detail === undefined ? text : `${text} ${detail}`
}
