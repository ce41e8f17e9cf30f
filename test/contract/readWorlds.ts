import { type Client, createClient, type Hex, http, type LocalAccount } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { startDevnet } from '../../tools/devnet/index.js'
import { startAnvil } from '../support/anvil.js'
import { answering, type CallAnswer, type ScriptedCall, startScriptedServer } from './scriptedServer.js'

/** Stores 42 in slot 0 and leaves one byte of code. */
const initCode: Hex = '0x602a600055600160005360016000f3'

/** A chain with an account that is about to deploy `initCode` as its first transaction. */
export type ReadWorld = AsyncDisposable & {
  readonly client: Client
  readonly account: Hex
  readonly contract: Hex
  /** Sends the deployment and puts it into the pending block. Returns its hash. */
  preconfirm(): Promise<Hex>
  /** Seals the pending block. */
  seal(): Promise<void>
  /** Whether receipts are shown at `pending`; anvil answers null there. */
  readonly pendingReceipts: boolean
}

const account = mnemonicToAccount('test test test test test test test test test test test junk')
// keccak256(rlp([account, 0])), last 20 bytes.
const contract = '0x5fbdb2315678afecb367f032d93f642f64180aa3'

async function signDeployment(by: LocalAccount, chainId: number): Promise<Hex> {
  return by.signTransaction({
    chainId,
    nonce: 0,
    data: initCode,
    gas: 200_000n,
    maxFeePerGas: 10_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
    type: 'eip1559',
  })
}

export async function anvilWorld(): Promise<ReadWorld> {
  const anvil = await startAnvil()
  return {
    client: createClient({ transport: http(anvil.url) }),
    account: account.address,
    contract,
    pendingReceipts: false,
    async preconfirm() {
      const raw = await signDeployment(account, 31337)
      return (await anvil.request('eth_sendRawTransaction', [raw])) as Hex
    },
    async seal() {
      await anvil.mine()
    },
    [Symbol.asyncDispose]: () => anvil.stop(),
  }
}

export async function devnetWorld(): Promise<ReadWorld> {
  const devnet = await startDevnet({ mining: 'manual' })
  const client: Client = createClient({ transport: http(devnet.url) })
  return {
    client,
    account: account.address,
    contract,
    pendingReceipts: true,
    async preconfirm() {
      const raw = await signDeployment(account, devnet.chain.id)
      const hash = (await client.request({ method: 'eth_sendRawTransaction', params: [raw] })) as Hex
      await devnet.stepFlashblock()
      return hash
    },
    async seal() {
      await devnet.seal()
    },
    [Symbol.asyncDispose]: () => devnet.stop(),
  }
}

/** A server that answers as the interface is documented, for endpoints that cannot run here. */
export async function scriptedWorld(): Promise<ReadWorld> {
  let stage: 'idle' | 'preconfirmed' | 'sealed' = 'idle'
  const hash: Hex = `0x${'d1'.repeat(32)}`
  const shows = (block: unknown) =>
    stage === 'sealed'
      ? ['latest', 'pending', '0x1'].includes(String(block))
      : stage === 'preconfirmed' && block === 'pending'

  const answer = ({ method, params }: ScriptedCall): CallAnswer => {
    if (method === 'eth_getBlockByNumber') return { result: block(params[0], params[1] === true) }
    if (method === 'eth_getBlockReceipts')
      return { result: shows(params[0]) ? [receipt] : knows(params[0]) ? [] : null }
    const there = shows(params.at(-1))
    if (method === 'eth_getTransactionCount') return { result: there ? '0x1' : '0x0' }
    if (method === 'eth_getCode') return { result: there && params[0] === contract ? '0x01' : '0x' }
    if (method === 'eth_getStorageAt') return { result: `0x${(there ? '2a' : '').padStart(64, '0')}` }
    return { error: { code: -32601, message: `the method ${method} does not exist/is not available` } }
  }
  const knows = (selector: unknown) =>
    !String(selector).startsWith('0x') || Number(selector) <= (stage === 'sealed' ? 1 : 0)
  const receipt = {
    transactionHash: hash,
    blockNumber: '0x1',
    status: '0x1',
    gasUsed: '0xcf08',
    type: '0x2',
    l1Fee: '0x5',
  }

  function block(selector: unknown, full: boolean): object | null {
    if (!knows(selector)) return null
    const top = stage === 'sealed' ? 1 : 0
    const number =
      selector === 'pending'
        ? top + 1
        : String(selector).startsWith('0x')
          ? Number(selector)
          : selector === 'latest'
            ? top
            : 0
    const own = number === 1 && stage !== 'idle'
    return {
      number: `0x${number.toString(16)}`,
      hash: selector === 'pending' ? `0x${'0'.repeat(64)}` : `0x${number.toString(16).padStart(64, 'e')}`,
      parentHash: `0x${Math.max(0, number - 1)
        .toString(16)
        .padStart(64, 'e')}`,
      nonce: '0x0000000000000000',
      timestamp: `0x${(1_700_000_000 + 2 * number).toString(16)}`,
      gasLimit: '0x11e1a300',
      gasUsed: own ? '0xcf08' : '0x0',
      baseFeePerGas: '0x7',
      difficulty: '0x0',
      transactions: own ? [full ? { hash, type: '0x2' } : hash] : [],
      uncles: [],
      withdrawals: [],
    }
  }

  const server = await startScriptedServer(answering(answer))
  return {
    client: createClient({ transport: http(server.url) }),
    account: account.address,
    contract,
    pendingReceipts: true,
    async preconfirm() {
      stage = 'preconfirmed'
      return hash
    },
    async seal() {
      stage = 'sealed'
    },
    [Symbol.asyncDispose]: () => server.close(),
  }
}
