import {
  type Address,
  concat,
  type Hex,
  keccak256,
  type LocalAccount,
  numberToHex,
  parseGwei,
  sha256,
  toRlp,
} from 'viem'
import type { RunningNode } from '../nodes/run/startNode.js'
import { freshAccount } from '../nodes/tools/accounts.js'

/** The answers of one node to the read methods, as they came. */
export type Recording = {
  /** The node's own name and version. */
  readonly source: string
  /** The types of the transactions in the block. */
  readonly types: readonly string[]
  readonly pending: { readonly full: unknown; readonly hashes: unknown }
  readonly sealed: { readonly full: unknown; readonly hashes: unknown; readonly receipts: unknown }
  readonly state: {
    readonly contract: Address
    readonly code: unknown
    readonly storage: unknown
    readonly count: unknown
    readonly address: Address
  }
}

/** Stores 42 in slot 0, logs these 32 bytes under the topic 7, and leaves one byte of code. */
const LOG_CODE: Hex = '0x602a5f55602a5f52600760205fa160015f5360015ff3'
const FEES = { maxFeePerGas: parseGwei('20'), maxPriorityFeePerGas: parseGwei('2') }
const TO: Address = '0x00000000000000000000000000000000000000aa'

/** Sends one transaction of each type that the node accepts, and reads them pending and sealed. */
export async function recordAnswers(running: RunningNode): Promise<Recording> {
  const { rpc } = running
  const chainId = Number((await rpc.call('eth_chainId')) as Hex)
  const types: string[] = []
  const senders: Address[] = []
  const send = async (type: string, ...tries: readonly (() => Promise<Hex>)[]): Promise<void> => {
    for (const make of tries) {
      try {
        await rpc.call('eth_sendRawTransaction', await make())
        types.push(type)
        return
      } catch (error) {
        process.stdout.write(`  type ${type}: ${String(error).slice(0, 200)}\n`)
      }
    }
  }
  // One account per type, so that a refusal leaves no gap.
  const fresh = async () => {
    const { account } = await freshAccount(running)
    senders.push(account.address)
    return account
  }
  const plain = { chainId, nonce: 0, to: TO, value: 7n, gas: 100_000n }
  const accessList = [{ address: TO, storageKeys: [`0x${'5'.padStart(64, '0')}` as Hex] }]
  const [legacy, listed, dynamic, blob, delegating, deploying] = [
    await fresh(),
    await fresh(),
    await fresh(),
    await fresh(),
    await fresh(),
    await fresh(),
  ]
  await send('0x0', () => legacy.signTransaction({ ...plain, type: 'legacy', gasPrice: parseGwei('20') }))
  await send('0x1', () =>
    listed.signTransaction({ ...plain, type: 'eip2930', accessList, gasPrice: parseGwei('20') }),
  )
  await send('0x2', () =>
    dynamic.signTransaction({ ...plain, type: 'eip1559', data: '0x0102', ...FEES, accessList }),
  )
  await send(
    '0x3',
    () => blobTransaction(blob, chainId, true),
    () => blobTransaction(blob, chainId, false),
  )
  await send('0x4', async () => {
    const authorization = await delegating.signAuthorization!({ chainId, contractAddress: TO, nonce: 1 })
    return delegating.signTransaction({
      ...plain,
      type: 'eip7702',
      ...FEES,
      authorizationList: [authorization],
    })
  })
  await send('0x2', () =>
    deploying.signTransaction({ chainId, nonce: 0, gas: 300_000n, type: 'eip1559', data: LOG_CODE, ...FEES }),
  )
  const read = (method: string, ...params: readonly unknown[]) => rpc.call(method, ...params)
  const pending = {
    full: await read('eth_getBlockByNumber', 'pending', true),
    hashes: await read('eth_getBlockByNumber', 'pending', false),
  }
  await running.description.mine(rpc)
  const receipts = await read('eth_getBlockReceipts', 'latest').catch(() => null)
  const contract = contractOf(deploying.address)
  return {
    source: `${await read('web3_clientVersion')}`,
    types,
    pending,
    sealed: {
      full: await read('eth_getBlockByNumber', 'latest', true),
      hashes: await read('eth_getBlockByNumber', 'latest', false),
      receipts,
    },
    state: {
      contract,
      address: deploying.address,
      code: await read('eth_getCode', contract, 'latest'),
      storage: await read('eth_getStorageAt', contract, '0x0', 'latest'),
      count: await read('eth_getTransactionCount', deploying.address, 'latest'),
    },
  }
}

function contractOf(address: Address): Address {
  return `0x${keccak256(toRlp([address, '0x'])).slice(26)}`
}

/** The commitment of a blob of zeros, and each of its proofs, is the point at infinity. */
const INFINITY: Hex = `0xc0${'00'.repeat(47)}`
const BLOB: Hex = `0x${'00'.repeat(131_072)}`
const CELLS = 128

/**
 * A transaction with a blob of zeros, as pools take it: with the proofs of its cells since Osaka (EIP-7594),
 * with one proof before.
 */
async function blobTransaction(
  account: Pick<LocalAccount, 'sign'>,
  chainId: number,
  isCells: boolean,
): Promise<Hex> {
  const quantity = (value: bigint | number): Hex => (BigInt(value) === 0n ? '0x' : numberToHex(value))
  const fields = [
    quantity(chainId),
    quantity(0),
    quantity(FEES.maxPriorityFeePerGas),
    quantity(FEES.maxFeePerGas),
    quantity(100_000),
    TO,
    quantity(7),
    '0x',
    [],
    quantity(parseGwei('1')),
    [`0x01${sha256(INFINITY).slice(4)}` as Hex],
  ] as const
  const signature = await account.sign!({ hash: keccak256(concat(['0x03', toRlp(fields as never)])) })
  const [r, s] = [signature.slice(2, 66), signature.slice(66, 130)].map((part) =>
    quantity(BigInt(`0x${part}`)),
  )
  const yParity = quantity(Number(`0x${signature.slice(130)}`) - 27)
  const signed = [...fields, yParity, r, s]
  const sidecar = isCells
    ? ['0x01', [BLOB], [INFINITY], Array<Hex>(CELLS).fill(INFINITY)]
    : [[BLOB], [INFINITY], [INFINITY]]
  return concat(['0x03', toRlp([signed, ...sidecar] as never)])
}
