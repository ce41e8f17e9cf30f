import type { Hex } from 'viem'
import type { ServiceAccount, ServiceOptions } from '../../../src/kms/index.js'

/** What a service does when it is asked for a signature. */
export type Reply =
  /** It signs. */
  | 'signs'
  /** It signs with another key. */
  | 'signsAsAnother'
  /** It says that it is asked too often, and how long to wait where its protocol has a place for that. */
  | 'throttles'
  /** It says that it is not available. */
  | 'fails'
  /** It drops the connection. */
  | 'drops'
  /** It says that the key may not be used. */
  | 'refuses'
  /** It never answers. */
  | 'hangs'

/** What kind of key it has. */
export type KeyKind = 'good' | 'otherCurve' | 'disabled'

/** The protocol of a service on loopback, as its documentation has it, asked by its own SDK where there is one. */
export type ScriptedService = AsyncDisposable & {
  /** Decides each answer, by how many signatures were asked for before. */
  reply: (count: number) => Reply
  key: KeyKind
  /** Signatures that were asked for. */
  readonly asked: number
  account(options?: ServiceOptions): Promise<ServiceAccount>
}

export type StartService = (key: Hex) => Promise<ScriptedService>

/** What the services have in common: how they count, and what they decide. */
export function createScript() {
  let asked = 0
  const script = {
    reply: (_count: number): Reply => 'signs',
    key: 'good' as KeyKind,
    get asked() {
      return asked
    },
    /** One more signature is asked for. Every second one has the higher s. */
    next(): { readonly reply: Reply; readonly isHigh: boolean } {
      const count = asked++
      return { reply: script.reply(count), isHigh: count % 2 === 1 }
    },
  }
  return script
}
