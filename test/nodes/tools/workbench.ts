import {
  type Address,
  type Hex,
  keccak256,
  type LocalAccount,
  parseGwei,
  type TransactionSerializable,
  type TransactionSerializableEIP1559,
} from 'viem'
import { systemClock } from '../../../src/platform/clock.js'
import { classifyReply, type SendOutcome } from '../../../src/rpc/classify.js'
import { call, type RpcReply } from '../../../src/rpc/port.js'
import { createHttpPort } from '../../../src/rpc/transports/http.js'
import { pause } from '../../support/pause.js'
import type { Fate } from '../refusals/names.js'
import type { RunningNode } from '../run/startNode.js'
import { freshAccount, hasReceipt, mined } from './accounts.js'

type Fields = Partial<TransactionSerializableEIP1559>
export type Signed = { readonly raw: Hex; readonly hash: Hex }

export const NOBODY: Address = '0x00000000000000000000000000000000000000aa'
/** Above the base fee of every node here, so that the base fee can fall or rise. */
export const FEES = { maxFeePerGas: parseGwei('20'), maxPriorityFeePerGas: parseGwei('2') }
export const TRANSFER_GAS = 21_000n

const SEND = 'eth_sendRawTransaction'
const BLOCKS_UNTIL_FATE = 3
// geth moves transactions between its queues after its answer.
const SETTLE_MS = 30

/** Signs and sends without a lane, to observe how a node treats bytes. Only in the mode `manual`. */
export type Workbench = AsyncDisposable & {
  readonly running: RunningNode
  readonly chainId: number
  account(wei?: bigint): Promise<LocalAccount>
  /** The first nonce of a new account. Signed transactions count from it. */
  readonly firstNonce: number
  /** A transfer of 1 wei with good fees at the first nonce, unless `fields` differ. */
  transfer(fields?: Fields): TransactionSerializableEIP1559
  /** Such a transfer, signed. */
  sign(account: LocalAccount, fields?: Fields): Promise<Signed>
  send(raw: Hex): Promise<RpcReply>
  /** The classifier's result for the answer. */
  outcome(signed: Signed, reply: RpcReply): SendOutcome
  /** Sends a transaction that the node has to accept. @throws Error with its message if it refuses */
  take(signed: Signed): Promise<void>
  /** Sends it, and makes blocks until it is in one. */
  execute(signed: Signed): Promise<void>
  /** The account's `latest` count. */
  nextNonce(account: LocalAccount): Promise<number>
  /** Its state after a few blocks. */
  fateOf(hash: Hex): Promise<Fate>
}

export async function openWorkbench(running: RunningNode): Promise<Workbench> {
  const port = createHttpPort({ url: running.url, clock: systemClock })
  const chainId = Number((await running.rpc.call('eth_chainId')) as Hex)

  const firstNonce = running.description.firstNonce ?? 0

  function transfer({ nonce = 0, ...fields }: Fields = {}): TransactionSerializableEIP1559 {
    const usual = { to: NOBODY, value: 1n, gas: TRANSFER_GAS, ...FEES }
    return { type: 'eip1559', chainId, nonce: firstNonce + nonce, ...usual, ...fields }
  }

  const send = (raw: Hex) => call(port, SEND, [raw])

  async function take({ raw }: Signed): Promise<void> {
    const reply = await send(raw)
    if (!reply.ok)
      throw new Error(`the node refused a transaction that it should accept: ${reply.failure.message}`)
  }

  async function fateOf(hash: Hex): Promise<Fate> {
    for (let blocks = 0; blocks < BLOCKS_UNTIL_FATE; blocks++) {
      await pause(SETTLE_MS)
      // A pooled transaction may keep a node from making a block; the checks below show its state.
      await running.mine().catch(() => undefined)
      if (await hasReceipt(running.rpc, hash)) return 'mined'
    }
    return (await running.rpc.call('eth_getTransactionByHash', hash)) === null ? 'absent' : 'pooled'
  }

  return {
    running,
    chainId,
    async account(wei) {
      return (await freshAccount(running, wei)).account
    },
    firstNonce,
    transfer,
    sign: (account, fields) => signed(account, transfer(fields)),
    send,
    outcome: ({ hash }, reply) => classifyReply(reply, hash),
    take,
    async execute(one) {
      await take(one)
      await mined(running, one.hash)
    },
    async nextNonce({ address }) {
      return Number((await running.rpc.call('eth_getTransactionCount', address, 'latest')) as Hex)
    },
    fateOf,
    async [Symbol.asyncDispose]() {
      port.close()
    },
  }
}

export async function signed(account: LocalAccount, transaction: TransactionSerializable): Promise<Signed> {
  return withHash(await account.signTransaction(transaction))
}

export function withHash(raw: Hex): Signed {
  return { raw, hash: keccak256(raw) }
}
