// Parses the output of `npm audit --json`.

/** The result of an audit. */
export type AuditResult =
  /** Packages with high or critical advisories, and the total number of packages with advisories. */
  | { readonly completed: true; readonly severe: readonly string[]; readonly total: number }
  /** The registry did not respond with a report. */
  | { readonly completed: false; readonly reason: string };

interface Report {
  auditReportVersion?: number;
  vulnerabilities?: Record<string, { severity: string; range?: string }>;
  message?: string;
  error?: { summary?: string; detail?: string };
}

/** Parses a report. Never throws. @param stdout output of npm, possibly not a report */
export function readAudit(stdout: string): AuditResult {
  let report: Report;
  try {
    report = JSON.parse(stdout) as Report;
  } catch {
    return { completed: false, reason: 'npm printed no report' };
  }
  const { auditReportVersion, vulnerabilities, message, error } = report;
  if (auditReportVersion === undefined || vulnerabilities === undefined)
    return { completed: false, reason: message ?? error?.summary ?? 'npm printed no report' };
  const found = Object.entries(vulnerabilities);
  const severe = found.filter(([, { severity }]) => severity === 'high' || severity === 'critical');
  return {
    completed: true,
    severe: severe.map(([name, { severity, range = '*' }]) => `${name} ${range}: ${severity}`),
    total: found.length,
  };
}
