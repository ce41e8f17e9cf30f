import { type Address, createPublicClient, getContractAddress, type Hex, http } from 'viem'
import {
  getBlockByNumber,
  getBlockReceipts,
  getCode,
  getStorageAt,
  getTransactionCount,
  isTxlaneError,
} from '../../../src/index.js'
import { openWorkbench, type Workbench } from '../tools/workbench.js'
import type { NodeCase } from './nodeCase.js'

/** Stores 7 at slot 0 and leaves one byte of code. */
const CONTRACT: Hex = '0x60076000556001601160003960016000f300'
const TAGS = ['latest', 'pending', 'safe', 'finalized', 'earliest'] as const
const SLOT = '0x0'

type Selector = (typeof TAGS)[number] | Hex | bigint | number
type Read = {
  readonly method: string
  readonly params: (block: string) => readonly unknown[]
  /** What the library reads, as a text to compare. */
  readonly read: (block: Selector) => Promise<string>
  /** The same of the node's own answer. */
  readonly decode: (result: never, block: string) => string
}

/** The five reads at every selector answer what the node itself says, or a typed error that names the method. */
export const reads: NodeCase = {
  name: 'five reads at every selector',
  quick: true,
  async run(setting) {
    const running = await setting.shared('manual')
    await using bench = await openWorkbench(running)
    const { account, contract } = await written(bench)
    const head = (await running.rpc.call('eth_blockNumber')) as Hex
    const selectors: readonly Selector[] = [...TAGS, head, BigInt(head), Number(head)]
    const tally = { answered: 0, refused: new Set<string>(), wrong: [] as string[] }
    for (const one of readsOf(running.url, account, contract)) {
      for (const selector of selectors) {
        const block = typeof selector === 'string' ? selector : head
        const [asked, told] = await Promise.all([
          outcomeOf(() => one.read(selector), one.method),
          outcomeOf(async () => {
            const result = await running.rpc.call(one.method, ...one.params(block))
            return one.decode(result as never, block)
          }),
        ])
        if (asked !== told) tally.wrong.push(`${one.method} at ${selector}: read ${asked}, said ${told}`)
        else if (asked === REFUSED)
          tally.refused.add(`${one.method} ${block.startsWith('0x') ? 'by number' : block}`)
        else tally.answered++
      }
    }
    const refused = [...tally.refused].join(', ')
    const says = `${tally.answered} of ${5 * selectors.length} answered${refused === '' ? '' : `; the node has no ${refused}`}`
    return { ok: tally.wrong.length === 0, says: [says, ...tally.wrong].join('; ') }
  },
}

/** One block with a contract and a transfer, and one transaction that waits in the pool. */
async function written(bench: Workbench): Promise<{ account: Address; contract: Address }> {
  const account = await bench.account()
  await bench.execute(await bench.sign(account, { to: null, value: 0n, data: CONTRACT, gas: 200_000n }))
  await bench.execute(await bench.sign(account, { nonce: 1 }))
  await bench.take(await bench.sign(account, { nonce: 2 }))
  return { account: account.address, contract: getContractAddress({ from: account.address, nonce: 0n }) }
}

function readsOf(url: string, account: Address, contract: Address): readonly Read[] {
  const client = createPublicClient({ transport: http(url) })
  return [
    {
      method: 'eth_getBlockByNumber',
      params: (block) => [block, false],
      read: async (block) => {
        const one = await getBlockByNumber(client, { block })
        return one === null
          ? 'null'
          : `${one.number} ${block === 'pending' ? '' : one.hash} ${one.transactions}`
      },
      decode: (one: { number: Hex; hash: Hex; transactions: Hex[] } | null, block) =>
        one === null
          ? 'null'
          : `${BigInt(one.number)} ${block === 'pending' ? '' : one.hash} ${one.transactions}`,
    },
    {
      method: 'eth_getBlockReceipts',
      params: (block) => [block],
      read: async (block) => {
        const all = await getBlockReceipts(client, { block })
        return all === null
          ? 'null'
          : all.map(({ transactionHash, gasUsed }) => `${transactionHash} ${gasUsed}`).join()
      },
      decode: (all: { transactionHash: Hex; gasUsed: Hex }[] | null) =>
        all === null
          ? 'null'
          : all.map(({ transactionHash, gasUsed }) => `${transactionHash} ${BigInt(gasUsed)}`).join(),
    },
    {
      method: 'eth_getStorageAt',
      params: (block) => [contract, SLOT, block],
      read: async (block) =>
        `${BigInt(await getStorageAt(client, { address: contract, slot: SLOT, block }))}`,
      decode: (word: Hex) => `${word === '0x' ? 0n : BigInt(word)}`,
    },
    {
      method: 'eth_getTransactionCount',
      params: (block) => [account, block],
      read: async (block) => `${await getTransactionCount(client, { address: account, block })}`,
      decode: (count: Hex) => `${Number(count)}`,
    },
    {
      method: 'eth_getCode',
      params: (block) => [contract, block],
      read: (block) => getCode(client, { address: contract, block }),
      decode: (code: Hex) => code,
    },
  ]
}

const REFUSED = 'refused'

async function outcomeOf(read: () => Promise<string>, method?: string): Promise<string> {
  try {
    return await read()
  } catch (error) {
    const named = method === undefined || (isTxlaneError(error) && error.message.includes(method))
    return named ? REFUSED : `an error without the method: ${error}`
  }
}
