import { TxlaneError } from '../errors/base.js'
import { PACKAGE_VERSION } from '../errors/packageVersion.js'
import { eventNames } from '../lane/emitter.js'
import type { Clock } from '../platform/clock.js'
import type { Sender, SenderEvents } from '../types/index.js'
import { createFields, describeError } from './fields.js'
import { type AppendFile, openAppendFile } from './file.js'
import { createLineWriter } from './lineWriter.js'
import { type Settings, sendersOf } from './options.js'
import type { Recorder } from './recordTo.js'
import { RECORDING_FORMAT, RECORDING_VERSION, type RecordingLine } from './schema.js'

export type RecorderEnvironment = {
  readonly clock: Clock
  /** @throws where the file cannot be written */
  readonly openFile?: (path: string) => AppendFile
}

type Followed = { readonly lane: string; readonly opening: () => string; users: number; off: () => void }

/** `recordTo` in a given environment. */
export function createRecorderIn(environment: RecorderEnvironment, settings: Settings): Recorder {
  const { clock, openFile = openAppendFile } = environment
  const file = opened(openFile, settings.path)
  const startedAt = clock.wallNow()
  const fieldsOf = createFields()
  const followed = new Map<Sender, Followed>()
  let closed: Promise<void> | undefined

  const writer = createLineWriter({
    file,
    clock,
    ...settings,
    opening: () => [header(), ...[...followed.values()].map(({ opening }) => opening())],
    missing: (count) => text({ at: clock.wallNow(), event: 'dropped', count }),
    failed: tellFailure,
  })
  // What was cut off stays a line by itself.
  writer.write(`${file.torn ? '\n' : ''}${header()}`)

  function header(): string {
    const own = { format: RECORDING_FORMAT, version: RECORDING_VERSION, package: PACKAGE_VERSION } as const
    return text({ at: clock.wallNow(), event: 'recording', ...own, startedAt })
  }

  function follow(source: Sender): () => void {
    const senders = closed ? [] : sendersOf(source)
    for (const sender of senders) followOne(sender)
    let following = true
    return () => {
      if (following) for (const sender of senders) unfollow(sender)
      following = false
    }
  }

  function followOne(sender: Sender): void {
    const known = followed.get(sender)
    if (known) {
      known.users++
      return
    }
    const [chainId, address] = [sender.chain.id, sender.address]
    const lane = `${chainId}:${address}`
    const opening = () => text({ at: clock.wallNow(), event: 'following', lane, chainId, address })
    writer.write(opening())
    const offs = eventNames.map((event) => sender.on(event, (payload) => hear(lane, event, payload)))
    followed.set(sender, { lane, opening, users: 1, off: () => offs.forEach((off) => void off()) })
  }

  function unfollow(sender: Sender): void {
    const known = followed.get(sender)
    if (known === undefined || --known.users > 0) return
    known.off()
    followed.delete(sender)
  }

  function hear<event extends keyof SenderEvents>(
    lane: string,
    event: event,
    payload: SenderEvents[event],
  ): void {
    try {
      writer.write(text({ at: clock.wallNow(), event, lane, ...fieldsOf[event](payload) }))
    } catch {
      // Nothing that is wrong with a recording may reach the lane.
      writer.drop()
    }
  }

  async function close(): Promise<void> {
    for (const { off } of followed.values()) off()
    followed.clear()
    writer.write(text({ at: clock.wallNow(), event: 'closed' }))
    await writer.close()
  }

  function tellFailure(cause: unknown): void {
    for (const { off } of followed.values()) off()
    const error = new TxlaneError('The recording cannot be written any more, and has stopped.', {
      code: 'STORE',
      // It is about no transaction: nobody is to send one again for it.
      fate: 'inFlight',
      cause,
      details: describeError(cause).message,
    })
    try {
      settings.onError(error)
    } catch {
      // The caller's own.
    }
  }

  const recorder: Recorder = {
    path: settings.path,
    get dropped() {
      return writer.dropped
    },
    follow: (source) => follow(source as unknown as Sender),
    flush: () => writer.flush(),
    close() {
      closed ??= close()
      return closed
    },
    [Symbol.asyncDispose]: () => recorder.close(),
  }
  return recorder
}

function text(line: RecordingLine): string {
  return JSON.stringify(line)
}

function opened(open: (path: string) => AppendFile, path: string): AppendFile {
  try {
    return open(path)
  } catch (cause) {
    throw new TxlaneError(`Invalid path: the recording cannot be written to ${JSON.stringify(path)}.`, {
      code: 'INVALID',
      fate: 'notExecuted',
      cause,
      details: describeError(cause).message,
      metaMessages: ['Argument: path'],
    })
  }
}
