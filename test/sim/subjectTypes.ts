import type { Address, Hash, Hex } from 'viem'
import type { Probe } from '../../src/chain/environment.js'
import type { Random } from '../../src/platform/clock.js'
import type { ChainSettings } from './chain/options.js'
import type { Machine } from './process.js'
import type { Finality } from './tagPlan.js'

export type SubjectRequest = {
  readonly to?: Address
  readonly data?: Hex
  readonly value?: bigint
  readonly gas?: bigint
  readonly maxFeePerGas?: bigint
  readonly maxPriorityFeePerGas?: bigint
  readonly authorize?: readonly { readonly contractAddress: Address }[]
}

export type SubjectOptions = {
  readonly id: string
  readonly until?: 'queued' | 'accepted'
  readonly expires?: { readonly atMs: number }
  readonly onExpiry?: 'cancel' | 'leave'
  readonly signal?: AbortSignal
  readonly after?: readonly string[]
  readonly afterStatus?: 'success' | 'any'
  readonly afterStage?: 'preconfirmed' | 'sealed'
  readonly effect?: { readonly address: Address; readonly slot: Hex; readonly value: Hex }
  readonly private?: boolean
  readonly feeCeiling?: bigint
  /** The caller waits for the receipt for this long, as `sendTransactionSync` does. */
  readonly receiptWithinMs?: number
}

export type SubjectStage = 'preconfirmed' | 'sealed' | 'safe' | 'finalized'

/** The part of a sender's `Tx` that the workload uses. */
export type SubjectTx = {
  readonly id: string
  wait(
    stage?: SubjectStage,
    options?: { readonly timeoutMs?: number },
  ): Promise<{ readonly nonce: number; readonly hash: Hash }>
  cancel(): Promise<{ readonly result: 'removed' | 'cancelled' | 'tooLate' }>
  replace(request: SubjectRequest, options: SubjectOptions): Promise<SubjectTx>
  speedUp(fees?: { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }): Promise<void>
}

/** The part of a reservation that the workload uses. */
export type SubjectReservation = {
  readonly nonce: number
  commit(parameters: { serializedTransaction: Hex }): Promise<void>
  settle(error?: unknown): Promise<void>
  release(): Promise<void>
}

/** An event that alerts an operator. */
export type SubjectAlarm =
  | { readonly kind: 'held'; readonly reason: string }
  | { readonly kind: 'unresolved'; readonly id: string }

/** The part of a sender that the workload uses. Errors must have a `fate`, as a `TxlaneError` does. */
export type Subject = {
  ready(): Promise<void>
  send(request: SubjectRequest, options: SubjectOptions): Promise<SubjectTx>
  /** The members' ids are that of the options, followed by the place. */
  sendSequence(requests: readonly SubjectRequest[], options: SubjectOptions): Promise<readonly SubjectTx[]>
  get(id: string | { readonly hash: Hash }): Promise<SubjectTx | undefined>
  reserve(): Promise<SubjectReservation>
  onAlarm(listener: (alarm: SubjectAlarm) => void): void
  /** The operator's reactions. */
  resume(): void
  resolve(id: string, fate: 'executed' | 'notExecuted'): Promise<void>
  drain(): Promise<void>
  close(): Promise<void>
}

/** The environment that a world gives to the sender under test. */
export type SubjectEnvironment = Machine & {
  readonly random: Random
  readonly probe: Probe
  readonly chainId: number
  readonly lossDepth: 'child' | 'safe' | number
  /** Declared by the user; undefined for what the endpoints' tags say. */
  readonly finality: Finality | undefined
  readonly broadcast: 'first' | 'all'
  /** Counts the actions of the subject. */
  readonly strike: (what: string) => void
  /** The kind of chain: a subject may use the settings that a user would declare, and detects the rest. */
  readonly settings: ChainSettings
}

export type CreateSubject = (environment: SubjectEnvironment) => Subject
