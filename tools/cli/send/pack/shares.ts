/** Divides a fee among rows. The first rows pay the remainder, so that the shares add up to the fee. */
export function shareOf(fee: bigint, index: number, count: number): bigint {
  const [each, rest] = [fee / BigInt(count), fee % BigInt(count)]
  return each + (BigInt(index) < rest ? 1n : 0n)
}
