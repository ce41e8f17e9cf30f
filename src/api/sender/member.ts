import type { Address, Hash } from 'viem'
import type { LaneWorker } from '../../lane/engine/worker.js'
import type { GroupCounts } from '../../lane/queue/groups.js'
import type { LaneSession } from '../../lane/session/laneSession.js'
import type { AdmissionTarget } from '../../lane/transaction/caller.js'
import type { OpenLane } from '../../ownership/open.js'
import type { Reports } from '../../ownership/reports.js'
import type { Clock } from '../../platform/clock.js'
import type {
  HoldReason,
  ListOptions,
  RecordPage,
  Sender,
  SendOptions,
  Tx,
  TxRequest,
} from '../../types/index.js'
import type { LaneKey } from '../../types/store.js'
import type { Start } from './sendMany.js'

type MemberLane = {
  readonly key: LaneKey
  readonly worker: Pick<LaneWorker, 'unreservedBalanceWei' | 'requestBalance' | 'give'>
  readonly reports: Pick<Reports, 'fresh'>
}

/** A sender, with the internal state that a pool needs of it. */
export type Member = {
  readonly sender: Sender
  readonly clock: Clock
  /** The clock of timers that do not count as unfinished work and keep no process alive. */
  readonly background: Clock
  start(request: TxRequest, options: SendOptions, to?: AdmissionTarget): ReturnType<Start>
  /** The code that lanes run on: see `Environment`. */
  runtime(): Promise<object>
  /** Opens the lane and reads in advance the prices that its first transaction needs. */
  warm(): Promise<OpenLane>
  /** A page of the transactions of these accounts, from the chain and store of this sender. */
  list(options: ListOptions, accounts: readonly Address[]): Promise<RecordPage>
  /** From now on, transactions that this sender cannot send move to the lanes that `rebalancing` chooses. */
  rebalanceBy(rebalancing: NonNullable<LaneSession['rebalancing']>): void
  /** The lane, in any process that owns it; undefined before it is open here. */
  lane(): MemberLane | undefined
  /** How many more transactions it could send now; negative by the number of waiting ones. */
  room(): number
  /** How many transactions are in flight or wait for a nonce. */
  load(): number
  /** How much of its lane is in use, by group; undefined before the lane is open. */
  counts(): GroupCounts | undefined
  /** The holds for which its lane reserves no nonces now. */
  holds(): readonly HoldReason[]
  /** A transaction of its lane that has not ended, if this process knows it. */
  live(by: string | { hash: Hash }): Tx | undefined
  /** True once its lane is open in this process, as leader or standby. */
  opened(): boolean
  closed(): boolean
}
