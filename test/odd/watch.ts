import type { Clock } from '../../src/platform/clock.js'
import type { LaneSnapshot, Sender } from '../../src/types/index.js'

/** An event that a sender emitted. */
export type Said = {
  readonly atMs: number
  readonly event: string
  readonly id: string | undefined
  readonly nonce: number | undefined
  readonly reason: string | undefined
}

/** The events and snapshots of a sender, as an observer sees them. */
export type Watch = {
  readonly said: readonly Said[]
  /** One sentence for each payment that waited without a reported reason. */
  readonly unexplained: readonly string[]
  /** The most holes, unfinished nonces and waiting transactions in any snapshot. */
  readonly most: { readonly holes: number; readonly inFlight: number; readonly queued: number }
  onEvent(event: string, payload: Readonly<Record<string, unknown>>): void
  /** Called when a caller has sent the transaction with this id. */
  sent(id: string): void
  /**
   * Called when its caller got an error with the reason: the sender does not have the transaction until it
   * is sent again.
   */
  rejected(id: string): void
  askedAgain(id: string): void
  /** Observes another life of the sender from now on, or none while there is none. */
  look(sender: Sender | undefined): void
  stop(): void
}

const LOOK_MS = 2_500
// How long a transaction may wait before a reason is required.
const PATIENCE_MS = 10_000

/** Events that explain a delay. */
const REASONS: ReadonlySet<string> = new Set([
  'error',
  'held',
  'released',
  'endpoint',
  'stuck',
  'feeCeiling',
  'rebroadcast',
  'unresolved',
  'foreign',
  'displaced',
  'gap',
  'gapFilled',
  'reorged',
  'deepReorg',
])
/** Stages that an event reports; each is progress of the transaction. */
const STAGES: ReadonlySet<string> = new Set([
  'queued',
  'signed',
  'accepted',
  'preconfirmed',
  'sealed',
  'reverted',
  'replaced',
])

/** Events of an end without execution, whose error gives the reason. */
const ENDS: ReadonlySet<string> = new Set(['failed', 'cancelled', 'superseded'])

/** `verdictMs` is how long an end that only blocks can show takes without faults. */
export function createWatch(clock: Clock, verdictMs: number): Watch {
  const beganMs = clock.now()
  const said: Said[] = []
  const unexplained: string[] = []
  const most = { holes: 0, inFlight: 0, queued: 0 }
  const moved = new Map<string, { atMs: number; stage: string }>()
  // Rejected, and not sent again yet.
  const away = new Set<string>()
  let looking: Sender | undefined
  let reasonAtMs = beganMs
  let cancel = clock.setTimer(look, LOOK_MS)

  function look(): void {
    cancel = clock.setTimer(look, LOOK_MS)
    const sender = looking
    if (sender === undefined) return
    void sender.snapshot().then(
      (shown) => {
        if (sender === looking) see(sender, shown)
      },
      () => {},
    )
  }

  function see(sender: Sender, shown: LaneSnapshot): void {
    most.holes = Math.max(most.holes, shown.holes.length)
    most.inFlight = Math.max(most.inFlight, shown.inFlight)
    most.queued = Math.max(most.queued, shown.queued)
    const now = clock.now()
    if (shown.holds.length > 0) return
    for (const [id, { atMs, stage }] of moved) {
      // An accepted transaction waits for its block, and its stage shows that. Any reason that was emitted
      // since its last progress may explain the delay.
      const patience = PATIENCE_MS + (stage === 'accepted' || stage === 'replaced' ? verdictMs : 0)
      if (now - atMs < patience || reasonAtMs >= atMs) continue
      void ask(
        sender,
        id,
        `${id} was ${stage} for ${now - atMs} ms at ${now - beganMs}, without a reported reason`,
      )
    }
  }

  /** Reads the transaction itself, as its caller does. */
  async function ask(sender: Sender, id: string, complaint: string): Promise<void> {
    const saw = moved.get(id)
    const tx = await sender.get(id).catch(() => undefined)
    // It may have progressed, or the process may be gone, since the request.
    if (sender !== looking || saw === undefined || moved.get(id) !== saw || tx?.waitingFor !== undefined)
      return
    unexplained.push(complaint)
    moved.delete(id)
  }

  return {
    said,
    unexplained,
    most,
    onEvent(event, payload) {
      const { tx, reason, ...of } = payload as {
        tx?: { id: string; nonce?: number }
        nonce?: number
        reason?: string
      }
      const nonce = of.nonce ?? tx?.nonce
      const atMs = clock.now()
      said.push({ atMs: atMs - beganMs, event, id: tx?.id, nonce, reason })
      if (REASONS.has(event)) reasonAtMs = atMs
      if (tx === undefined) return
      if (ENDS.has(event)) moved.delete(tx.id)
      if (!STAGES.has(event)) return
      if (event === 'sealed' || event === 'reverted') moved.delete(tx.id)
      else if (moved.has(tx.id)) moved.set(tx.id, { atMs, stage: event })
    },
    sent: (id) => void moved.set(id, { atMs: clock.now(), stage: 'sent' }),
    rejected(id) {
      if (moved.delete(id)) away.add(id)
    },
    askedAgain(id) {
      if (away.delete(id)) moved.set(id, { atMs: clock.now(), stage: 'sent' })
    },
    look(sender) {
      looking = sender
    },
    stop: () => cancel(),
  }
}
