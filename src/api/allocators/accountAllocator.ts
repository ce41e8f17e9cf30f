import type { Hex } from 'viem'
import type { Environment } from '../../chain/environment.js'
import type { TxlaneError } from '../../errors/base.js'
import { invalid } from '../../errors/invalid.js'
import type { Engine } from '../../lane/engine/engineTypes.js'
import { readEnvelope } from '../../lane/transaction/outside.js'
import { type EarlyListeners, resumeOpened } from '../../ownership/earlyListeners.js'
import { type OpenLane, type OpenOptions, openLane } from '../../ownership/open.js'
import { createOpenOnce } from '../../ownership/openOnce.js'
import type { AllocatorInternals } from './allocator.js'
import { closedError } from './errors.js'
import { createReserving } from './reserving.js'

/** Hands out the account's own nonces, from the lane that senders of the account share. */
export function createAccountAllocator(
  options: OpenOptions,
  environment: Environment,
  { early, closing }: { readonly early: EarlyListeners; readonly closing: AbortSignal },
): AllocatorInternals<number> {
  const { limits } = options
  const opening = createOpenOnce(
    () => openLane({ ...options, closing }, environment, early.begin).then(attach),
    environment.clock,
  )
  let opened: OpenLane | undefined
  const reserveMany = createReserving({ limits, closing, hold })

  function open(): Promise<OpenLane> {
    return closing.aborted ? Promise.reject(closedError()) : opening.open()
  }

  function attach(lane: OpenLane): OpenLane {
    opened = lane
    early.attach(lane)
    return lane
  }

  /** Only the process that owns the lane can hand out its nonces. */
  async function hold(): Promise<Engine> {
    const lane = await open()
    return lane.ownership.hold()
  }

  async function adopt(raw: Hex): Promise<void> {
    const engine = await hold()
    const { lane } = engine.context
    const envelope = await readEnvelope('raw', raw, lane.key)
    await lane.exclusive(() => {
      const { book } = lane
      const slot = book.get(envelope.nonce)
      const free = slot === undefined ? envelope.nonce >= book.floor : slot.state === 'hole'
      if (envelope.nonce - book.cursor > limits.windowMax) throw farError(envelope.nonce, book.cursor)
      if (free) lane.apply(envelope.nonce, { type: 'handOut' })
    })
    await engine.externalNonces.commit(envelope.nonce, envelope)
  }

  return {
    async ready() {
      const engine = await hold()
      await engine.settled()
    },
    reserveMany,
    adopt,
    async resync() {
      const lane = await open()
      await lane.ownership.worker.resync()
    },
    resume() {
      const { heard } = early
      if (opened) opened.ownership.resume()
      else if (heard.size > 0)
        void opening.started?.then(
          (lane) => resumeOpened(lane, heard),
          () => {},
        )
    },
    snapshot: () => opened?.ownership.engine?.snapshot(),
    async close() {
      const lane = await opening.close(closedError)
      await lane?.release(lane.ownership.close)
      early.detach()
    },
  }
}

/** Each nonce between the cursor and this one would become a gap. */
function farError(nonce: number, cursor: number): TxlaneError {
  return invalid('raw', `nonce ${nonce}`, `bytes with a nonce near the lane's next one, ${cursor}`)
}
