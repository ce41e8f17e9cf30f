import type { Hex, TransactionSerializableEIP1559 } from 'viem'
import type { Workbench } from '../tools/workbench.js'
import type { RefusalName } from './names.js'
import type { Refusal } from './refusal.js'

type Fields = Partial<TransactionSerializableEIP1559>

const withGas = (name: RefusalName, fields: (bench: Workbench) => Promise<Fields>): Refusal => ({
  name,
  async provoke(bench) {
    const account = await bench.account()
    return { signed: await bench.sign(account, await fields(bench)), account, free: 0 }
  },
})

export const gas: readonly Refusal[] = [
  withGas('gas below the intrinsic cost', async () => ({ gas: 20_999n })),
  // 21,000 and 16 for each byte is 37,000; the floor is 21,000 and 40 for each byte.
  withGas('gas below the floor of EIP-7623', async () => ({
    gas: 40_000n,
    data: `0x${'ff'.repeat(1_000)}` as const,
  })),
  withGas('gas above the block', async ({ running }) => {
    const head = (await running.rpc.call('eth_getBlockByNumber', 'latest', false)) as { gasLimit: Hex }
    // Well above the limit, which geth raises by 1/1024 with each block.
    return { gas: (BigInt(head.gasLimit) * 11n) / 10n }
  }),
  // EIP-7825.
  withGas('gas above 2^24', async () => ({ gas: 2n ** 24n + 1n })),
]
