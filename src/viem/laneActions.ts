import type {
  Chain,
  Client,
  Hash,
  Hex,
  LocalAccount,
  PublicActions,
  SendTransactionParameters,
  SendTransactionSyncParameters,
  TransactionReceipt,
  Transport,
  WaitForTransactionReceiptParameters,
  WalletActions,
  WriteContractParameters,
} from 'viem'
import { waitForTransactionReceipt } from 'viem/actions'
import { RECEIPT_WITHIN } from '../lane/transaction/txInternals.js'
import { systemClock } from '../platform/clock.js'
import type { Sender, SendOptions, Tx, TxRequest } from '../types/index.js'

/** The actions of viem that go through a lane. */
export type LaneActions<chain extends Chain = Chain> = Pick<
  WalletActions<chain, LocalAccount>,
  'sendTransaction' | 'sendTransactionSync' | 'writeContract' | 'writeContractSync' | 'deployContract'
> &
  Pick<PublicActions<Transport, chain>, 'waitForTransactionReceipt'>

// viem's own defaults: of waitForTransactionReceipt, and of sendRawTransactionSync for a chain without a
// block time.
const RECEIPT_TIMEOUT_MS = 180_000
const SYNC_TIMEOUT_MS_MIN = 5_000

/**
 * Puts a lane behind the sending actions of a viem client, so that code written for viem sends through it:
 * `sendTransaction`, `writeContract`, `deployContract` and their Sync forms. `waitForTransactionReceipt`
 * takes the hash of any attempt, so a bumped transaction is found by its first hash. Hashes that the lane
 * does not know are left to viem.
 *
 * Differences from viem: a `nonce` is refused, because the lane assigns it. Errors are `TxlaneError`s, whose
 * `fate` says whether the transaction may be sent again. A timeout means WAIT_TIMEOUT, and the transaction
 * continues. `onReplaced` is not called. `sendRawTransaction` and `prepareTransactionRequest` stay viem's, so bytes that
 * were signed elsewhere bypass the lane.
 *
 * The Sync forms resolve with the first receipt that an endpoint shows. If the lane has nothing else to send and
 * the endpoint supports `eth_sendRawTransactionSync` (EIP-7966), it is in the answer to the send. Otherwise the
 * lane waits for the stage `preconfirmed`, and for `sealed` on chains without it. `timeout` counts from the
 * moment at which an endpoint accepts the transaction; the answer to a sync send comes within `timeout`, or
 * within 6 s if that is shorter. NOT guaranteed: that the receipt lasts. A pre-confirmation may be withdrawn,
 * and its `blockHash` is `null` unless the answer names a sealed block. `waitForTransactionReceipt` resolves
 * with the receipt of a sealed block.
 *
 * @example
 * const walletClient = createWalletClient({ account, chain: base, transport: http() })
 * const client = walletClient.extend(laneActions(createSender({ client: walletClient })))
 * const hash = await client.writeContract({ address, abi, functionName: 'quote', args: [1n, 2n] })
 * const receipt = await client.waitForTransactionReceipt({ hash })
 */
export function laneActions<chain extends Chain>(
  sender: Sender<chain>,
  // biome-ignore lint/suspicious/noExplicitAny: viem's client is invariant in its transport and account.
): (client: Client<any, chain, any>) => LaneActions<chain> {
  // The types are viem's, for the caller. Internally requests have the form that the sender checks.
  const lane = sender as unknown as Sender
  return (client) =>
    actionsOf(lane, client as unknown as Client<Transport, Chain>) as unknown as LaneActions<chain>
}

type SyncOptions = Pick<SendTransactionSyncParameters, 'timeout' | 'throwOnReceiptRevert'>

function actionsOf(sender: Sender, client: Client<Transport, Chain>) {
  const send = (parameters: unknown, options?: SendOptions) =>
    sender.send(requestOf(client, parameters) as TxRequest, options)
  const write = (parameters: unknown, options?: SendOptions) =>
    sender.writeContract(
      requestOf(client, parameters) as unknown as Parameters<Sender['writeContract']>[0],
      options,
    )

  async function sync(
    sending: (parameters: unknown, options: SendOptions) => Promise<Tx>,
    parameters: SyncOptions,
  ): Promise<TransactionReceipt> {
    const { timeout, throwOnReceiptRevert: throwOnRevert = false } = parameters
    const timeoutMs = timeout ?? Math.max((sender.chain.blockTime ?? 0) * 3, SYNC_TIMEOUT_MS_MIN)
    const tx = await sending(parameters, { [RECEIPT_WITHIN]: timeoutMs } as SendOptions)
    const acceptedMs = systemClock.now()
    const first = await tx.wait('preconfirmed', { timeoutMs })
    // Only a sealed block has the state on which the reason of a revert is found.
    const isEnough = first.receipt !== null && !(throwOnRevert && first.status === 'reverted')
    if (isEnough) return first.receipt as TransactionReceipt
    const leftMs = Math.max(0, timeoutMs - (systemClock.now() - acceptedMs))
    const landed = await tx.wait('sealed', { timeoutMs: leftMs, throwOnRevert })
    return landed.receipt as TransactionReceipt
  }

  return {
    sendTransaction: async (parameters: SendTransactionParameters): Promise<Hash> =>
      hashOf(await send(parameters)),
    sendTransactionSync: async (
      parameters: SendTransactionParameters & SyncOptions,
    ): Promise<TransactionReceipt> => sync(send, parameters),
    writeContract: async (parameters: WriteContractParameters): Promise<Hash> =>
      hashOf(await write(parameters)),
    writeContractSync: async (
      parameters: WriteContractParameters & SyncOptions,
    ): Promise<TransactionReceipt> => sync(write, parameters),
    deployContract: async (parameters: unknown): Promise<Hash> =>
      hashOf(
        await sender.deployContract(
          requestOf(client, parameters) as unknown as Parameters<Sender['deployContract']>[0],
        ),
      ),
    async waitForTransactionReceipt(
      parameters: WaitForTransactionReceiptParameters,
    ): Promise<TransactionReceipt> {
      const { hash, confirmations = 1, timeout = RECEIPT_TIMEOUT_MS } = parameters
      const tx = await sender.get({ hash })
      if (tx === undefined) return waitForTransactionReceipt(client, parameters)
      const landed = await tx.wait('sealed', timeout > 0 ? { timeoutMs: timeout } : {})
      if (confirmations <= 1) return landed.receipt as TransactionReceipt
      return waitForTransactionReceipt(client, { ...parameters, hash: landed.hash })
    },
  }
}

// Parameters that control the send of viem, and are not part of the transaction.
const NOT_REQUEST = new Set([
  'assertChainId',
  'kzg',
  'nonceManager',
  'pollingInterval',
  'throwOnReceiptRevert',
  'timeout',
])

function requestOf(client: Client, parameters: unknown): Record<string, unknown> {
  const suffix = suffixOf(client)
  const given = Object.entries((parameters ?? {}) as object).filter(([name]) => !NOT_REQUEST.has(name))
  return { ...(suffix === undefined ? {} : { dataSuffix: suffix }), ...Object.fromEntries(given) }
}

/** viem's clients may have a suffix for the calldata of all their transactions. */
function suffixOf(client: Client): Hex | undefined {
  const { dataSuffix } = client as { dataSuffix?: Hex | { value: Hex } }
  return typeof dataSuffix === 'object' ? dataSuffix.value : dataSuffix
}

/** The hash exists as soon as the transaction was accepted. */
function hashOf(tx: Tx): Hash {
  return tx.hash as Hash
}
