/**
 * Units of the interface. Internally, bytes, seconds and micro-units of the currency are safe integers, and are
 * converted only here. 1 MB = 10^6 bytes, 1 GB = 10^9 bytes.
 */
export const MB = 1_000_000
export const GB = 1_000_000_000

/** Micro-units of the currency in one unit. */
export const MICRO = 1_000_000

export const toMB = (bytes: number): number => bytes / MB
export const toGb = (bytes: number): number => bytes / GB
/** Converts seconds to minutes, rounded to three decimal places. */
export const toMinutes = (seconds: number): number => Math.round((seconds / 60) * 1000) / 1000
export const toMoney = (micro: number): number => micro / MICRO

export const fromGb = (gb: number): number => Math.round(gb * GB)

export const fromMoney = (amount: number): number => Math.round(amount * MICRO)
