import type { Address, Hash, Hex, LocalAccount } from 'viem'
import type { Clock, Random } from '../../src/clock.js'
import type { EndpointRole, Port } from '../../src/rpc/port.js'
import type { ChainSettings } from './chain/options.js'

export type SubjectRequest = {
  readonly to?: Address
  readonly data?: Hex
  readonly value?: bigint
  readonly gas?: bigint
}

export type SubjectOptions = {
  readonly id: string
  readonly until?: 'queued' | 'accepted'
  readonly expires?: { readonly atMs: number }
  readonly onExpiry?: 'cancel' | 'leave'
  readonly signal?: AbortSignal
}

export type SubjectStage = 'preconfirmed' | 'sealed' | 'safe' | 'finalized'

/** As much of a sender's `Tx` as the workload uses. */
export type SubjectTx = {
  readonly id: string
  wait(stage?: SubjectStage): Promise<{ readonly nonce: number; readonly hash: Hash }>
  cancel(): Promise<{ readonly result: 'removed' | 'cancelled' | 'tooLate' }>
  replace(request: SubjectRequest, options: SubjectOptions): Promise<SubjectTx>
  speedUp(): Promise<void>
}

/** As much of a sender as the workload uses. Errors must say the `fate`, as a `TxlaneError` does. */
export type Subject = {
  ready(): Promise<void>
  send(request: SubjectRequest, options: SubjectOptions): Promise<SubjectTx>
  get(id: string): Promise<SubjectTx | undefined>
  drain(): Promise<void>
  close(): Promise<void>
}

/** What a world gives to the sender under test. */
export type SubjectEnvironment = {
  /** The first of `ports`: takes reads and sends. */
  readonly port: Port
  readonly ports: readonly { readonly port: Port; readonly role: EndpointRole }[]
  readonly clock: Clock
  readonly random: Random
  readonly account: LocalAccount
  readonly chainId: number
  readonly lossDepth: 'child' | 'safe' | number
  /** What kind of chain it is: a subject may be told what a user would declare, and finds out the rest. */
  readonly settings: ChainSettings
}

export type CreateSubject = (environment: SubjectEnvironment) => Subject
