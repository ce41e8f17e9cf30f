/** A minimum that a node requires, above the ceiling of the offer; both in wei per unit of gas. */
export type AboveCeiling = { readonly neededWei: bigint; readonly ceilingWei: bigint }

/** Sentence for an error or a hold. */
export function describeAboveCeiling({ neededWei, ceilingWei }: AboveCeiling): string {
  return `The node takes no less than ${neededWei} wei for a unit of gas, and the ceiling is ${ceilingWei} wei.`
}
