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
import type { Sender, Tx, TxRequest } from '../types/index.js'

/** viem's actions that go through a lane. */
export type LaneActions<chain extends Chain = Chain> = Pick<
  WalletActions<chain, LocalAccount>,
  'sendTransaction' | 'sendTransactionSync' | 'writeContract' | 'writeContractSync' | 'deployContract'
> &
  Pick<PublicActions<Transport, chain>, 'waitForTransactionReceipt'>

// viem's own: waitForTransactionReceipt, and sendRawTransactionSync where the chain says nothing of its blocks.
const RECEIPT_TIMEOUT_MS = 180_000
const SYNC_TIMEOUT_MS_MIN = 5_000

/**
 * Puts a lane behind the sending actions of a viem client, so that code written for viem sends through it:
 * `sendTransaction`, `writeContract`, `deployContract` and their Sync forms. `waitForTransactionReceipt` takes the hash
 * of any attempt: a transaction that was bumped is found under its first hash. Hashes the lane does not know are left
 * to viem.
 *
 * What differs from viem: a `nonce` is refused, since the lane owns it; errors are `TxlaneError`s, which say whether
 * it may be sent again; a time limit that passes means WAIT_TIMEOUT, and the transaction goes on. The Sync forms
 * resolve with the receipt of the sealed block, not of a pre-confirmation. `onReplaced` is not called.
 * `sendRawTransaction` and `prepareTransactionRequest` stay viem's: bytes that were signed elsewhere go past the lane.
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
  // The types are viem's, for the caller; inside, requests are what the sender checks them to be.
  const lane = sender as unknown as Sender
  return (client) =>
    actionsOf(lane, client as unknown as Client<Transport, Chain>) as unknown as LaneActions<chain>
}

type SyncOptions = Pick<SendTransactionSyncParameters, 'timeout' | 'throwOnReceiptRevert'>

function actionsOf(sender: Sender, client: Client<Transport, Chain>) {
  const send = (parameters: unknown) => sender.send(requestOf(client, parameters) as TxRequest)
  const write = (parameters: unknown) =>
    sender.writeContract(requestOf(client, parameters) as unknown as Parameters<Sender['writeContract']>[0])

  async function receiptOf(
    tx: Tx,
    { timeout, throwOnReceiptRevert }: SyncOptions,
  ): Promise<TransactionReceipt> {
    const timeoutMs = timeout ?? Math.max((sender.chain.blockTime ?? 0) * 3, SYNC_TIMEOUT_MS_MIN)
    const landed = await tx.wait('sealed', { timeoutMs, throwOnRevert: throwOnReceiptRevert ?? false })
    return landed.receipt as TransactionReceipt
  }

  return {
    sendTransaction: async (parameters: SendTransactionParameters): Promise<Hash> =>
      hashOf(await send(parameters)),
    sendTransactionSync: async (
      parameters: SendTransactionParameters & SyncOptions,
    ): Promise<TransactionReceipt> => receiptOf(await send(parameters), parameters),
    writeContract: async (parameters: WriteContractParameters): Promise<Hash> =>
      hashOf(await write(parameters)),
    writeContractSync: async (
      parameters: WriteContractParameters & SyncOptions,
    ): Promise<TransactionReceipt> => receiptOf(await write(parameters), parameters),
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

// What tells viem how to send, and is nothing of the transaction itself.
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

/** viem's clients may carry a suffix for the calldata of all that they send. */
function suffixOf(client: Client): Hex | undefined {
  const { dataSuffix } = client as { dataSuffix?: Hex | { value: Hex } }
  return typeof dataSuffix === 'object' ? dataSuffix.value : dataSuffix
}

/** There is one as soon as it was accepted. */
function hashOf(tx: Tx): Hash {
  return tx.hash as Hash
}
