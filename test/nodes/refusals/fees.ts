import { type Hex, parseGwei } from 'viem'
import type { Refusal } from './refusal.js'

/** Half of the head's base fee, because each empty block lowers it by an eighth. */
export const belowBaseFee: Refusal = {
  name: 'max fee below the base fee',
  needs: 'fresh',
  async provoke(bench) {
    const account = await bench.account()
    const { running } = bench
    const head = (await running.rpc.call('eth_getBlockByNumber', 'latest', false)) as { baseFeePerGas: Hex }
    const fee = BigInt(head.baseFeePerGas) / 2n
    const cure = async () => {
      for (let blocks = 0; blocks < 8; blocks++) await running.mine()
    }
    const fees = { maxFeePerGas: fee, maxPriorityFeePerGas: fee / 4n }
    return { signed: await bench.sign(account, fees), account, cure }
  },
}

export const noTip: Refusal = {
  name: 'tip of 0',
  async provoke(bench) {
    const account = await bench.account()
    return { signed: await bench.sign(account, { maxPriorityFeePerGas: 0n }), account, free: 0 }
  },
}

export const costsMuch: Refusal = {
  name: 'fee above one ether',
  async provoke(bench) {
    const account = await bench.account()
    const fields = { gas: 10_000_000n, maxFeePerGas: parseGwei('200') }
    return { signed: await bench.sign(account, fields), account, free: 0 }
  },
}
