export const FAULT_PRESETS = ['none', 'default', 'storm'] as const
export type FaultPresetName = (typeof FAULT_PRESETS)[number]
