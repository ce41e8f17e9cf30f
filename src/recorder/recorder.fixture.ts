import { createVirtualClock, type VirtualClock } from '../../test/sim/virtualClock.js'
import { TxlaneError } from '../errors/base.js'
import { createEmitter } from '../lane/emitter.js'
import { reasonOf } from '../lane/reasons/sentence.js'
import type { LaneEvents } from '../types/events.js'
import type { Sender, Tx } from '../types/index.js'
import type { AppendFile } from './lineWriter.js'
import { createRecorderIn, type Recorder, type RecordToOptions, settingsOf } from './recorder.js'

/** A file in memory that can be made slow or broken. */
export type StubFile = AppendFile & {
  text: string
  /** The error of the next writes. */
  broken: Error | undefined
  /** Writes wait while it is true. */
  shut: boolean
  open(): void
  rotated: string[]
  closed: boolean
}

export function createStubFile(text = ''): StubFile {
  let waiting: (() => void)[] = []
  const file: StubFile = {
    text,
    broken: undefined,
    shut: false,
    rotated: [],
    closed: false,
    get size() {
      return file.text.length
    },
    get torn() {
      return file.text !== '' && !file.text.endsWith('\n')
    },
    async append(more) {
      if (file.shut) await new Promise<void>((resolve) => waiting.push(resolve))
      if (file.broken) throw file.broken
      file.text += more
    },
    async rotate() {
      file.rotated.push(file.text)
      file.text = ''
    },
    async close() {
      file.closed = true
    },
    open() {
      file.shut = false
      for (const go of waiting) go()
      waiting = []
    },
  }
  return file
}

const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
export const LANE = `31337:${ADDRESS}`

/** The parts of a sender that a recorder reads. */
export function createStubSender(address = ADDRESS) {
  const emitter = createEmitter({ chainId: 31_337, address: ADDRESS }, () => {})
  const sender = { chain: { id: 31337 }, address, on: emitter.on } as unknown as Sender
  return { sender, emit: emitter.emit, heard: () => emitter.heard('queued') }
}

export function createStubTx(fields: Partial<Tx> = {}): Tx {
  return {
    id: 'a',
    stage: 'queued',
    nonce: undefined,
    hash: undefined,
    attempts: [],
    wait: () => new Promise(() => {}),
    ...fields,
  } as unknown as Tx
}

export type Recording = {
  readonly recorder: Recorder
  readonly file: StubFile
  readonly clock: VirtualClock
  readonly errors: Error[]
  /** The lines so far, parsed. */
  lines(): Promise<Record<string, unknown>[]>
}

export function record(options: RecordToOptions = {}, file = createStubFile()): Recording {
  const clock = createVirtualClock()
  const errors: Error[] = []
  const settings = settingsOf('run.jsonl', { onError: (error) => void errors.push(error), ...options })
  const recorder = createRecorderIn({ clock, openFile: () => file }, settings)
  return {
    recorder,
    file,
    clock,
    errors,
    async lines() {
      await recorder.flush()
      return parse(file.text)
    },
  }
}

export function parse(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** One payload of each event. */
export function everyPayload(tx: Tx): { readonly [event in keyof LaneEvents]: LaneEvents[event] } {
  const ofTx = { tx }
  const ofEnd = { tx, error: new TxlaneError('It expired.', { code: 'EXPIRED', fate: 'notExecuted' }) }
  const ofNonce = { nonce: 7, tx }
  return {
    queued: ofTx,
    signed: ofTx,
    accepted: ofTx,
    preconfirmed: ofTx,
    sealed: ofTx,
    reverted: ofTx,
    failed: ofEnd,
    cancelled: ofEnd,
    superseded: ofEnd,
    replaced: ofTx,
    waiting: { tx, waitingFor: reasonOf({ for: 'funds' }, 0) },
    reordered: { tx, by: tx, waitingFor: reasonOf({ for: 'funds' }, 0) },
    rebroadcast: ofTx,
    stuck: ofTx,
    feeCeiling: ofTx,
    foreign: ofNonce,
    displaced: ofNonce,
    unresolved: ofNonce,
    gap: { nonce: 7 },
    gapFilled: { nonce: 7 },
    reorged: ofNonce,
    deepReorg: ofNonce,
    corrected: ofNonce,
    rebound: { ...ofTx, times: 2 },
    held: { reason: 'starved' },
    released: { reason: 'starved' },
    endpoint: { name: 'https://node.example', role: 'both', change: 'down', profile: {} },
    leaseGained: { epoch: 3, takeover: true },
    leaseLost: { epoch: 3 },
    error: { error: new Error('the node is gone'), times: 3 },
  }
}
