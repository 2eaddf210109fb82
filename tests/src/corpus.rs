//! Synthetic memories of a coding project, 70 % English and 30 % Korean, reproducible by seed.
//!
//! For tests that depend on volume, such as latency. Tests of meaning need hand-written texts.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntheticMemory {
    pub text: String,
    pub is_korean: bool,
}

/// An endless sequence of memories.
#[derive(Debug, Clone)]
pub struct SyntheticCorpus {
    state: u64,
}

impl SyntheticCorpus {
    pub fn new(seed: u64) -> Self {
        Self { state: seed ^ 0x9E37_79B9_7F4A_7C15 }
    }

    fn draw(&mut self, below: usize) -> usize {
        // SplitMix64 by Steele, Lea and Flood.
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) as usize % below
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.draw(of.len())]
    }

    /// Returns a question of one to five words about the memories.
    pub fn question(&mut self) -> String {
        let (part, tool, trouble) = (self.pick(&PARTS), self.pick(&TOOLS), self.pick(&TROUBLES));
        let (part_ko, trouble_ko) = (self.pick(&PARTS_KO), self.pick(&TROUBLES_KO));
        match self.draw(6) {
            0 => format!("why did we choose {tool} for the {part}?"),
            1 => format!("{part} {trouble}"),
            2 => format!("what fixed the {part} in {}", self.name()),
            3 => format!("{part_ko} {trouble_ko} 원인이 뭐였지"),
            4 => format!("{part_ko}는 왜 {tool}로 바꿨지?"),
            _ => self.name(),
        }
    }

    /// Returns one of several thousand file names.
    fn name(&mut self) -> String {
        format!("{}_{}{}.rs", self.pick(&STEMS), self.pick(&STEMS), self.draw(40))
    }

    fn english(&mut self) -> String {
        let (part, tool, other) = (self.pick(&PARTS), self.pick(&TOOLS), self.pick(&TOOLS));
        let (trouble, reason, name, number) =
            (self.pick(&TROUBLES), self.pick(&REASONS), self.name(), self.draw(900) + 100);
        match self.draw(5) {
            0 => {
                format!("The {part} goes with {tool} instead of {other} because {reason}. Ticket {number}, see {name}.")
            }
            1 => format!("The {part} {trouble}: {reason}. Changed in {name}, with a test of {number} cases."),
            2 => {
                format!("{tool} in the {part} needs {number} ms at most, or it {trouble}. Nobody touches {name} alone.")
            }
            3 => format!("Rename the {part} in {name}, because {reason}; {tool} stays until release {number}."),
            _ => format!("Learned in {name} that {tool} {trouble} when {reason}, which cost us {number} minutes."),
        }
    }

    fn korean(&mut self) -> String {
        let (part, tool) = (self.pick(&PARTS_KO), self.pick(&TOOLS));
        let (trouble, reason, name, number) =
            (self.pick(&TROUBLES_KO), self.pick(&REASONS_KO), self.name(), self.draw(900) + 100);
        match self.draw(4) {
            0 => format!("{part}는 {reason} 때문에 {tool}로 바꾸기로 했다. 티켓 {number}, {name} 참고."),
            1 => format!("{part}에서 {trouble} 문제가 있었다. 원인은 {reason}였고 {name}에서 고쳤다."),
            2 => format!("{tool} 설정을 {number}밀리초로 낮추면 {part}에서 {trouble} 현상이 사라진다."),
            _ => format!("{name} 파일의 {part}는 {reason} 이후로 손대지 않는다. 버전 {number}까지 유지한다."),
        }
    }
}

impl Iterator for SyntheticCorpus {
    type Item = SyntheticMemory;

    fn next(&mut self) -> Option<SyntheticMemory> {
        let is_korean = self.draw(10) < 3;
        let text = if is_korean { self.korean() } else { self.english() };
        Some(SyntheticMemory { text, is_korean })
    }
}

const PARTS: [&str; 24] = [
    "login page",
    "invoice job",
    "search box",
    "image uploader",
    "session store",
    "report builder",
    "mail queue",
    "price table",
    "audit trail",
    "import wizard",
    "push sender",
    "map layer",
    "permission check",
    "export service",
    "rate limiter",
    "theme switch",
    "backup script",
    "release pipeline",
    "address form",
    "chat widget",
    "cron runner",
    "asset bundle",
    "feature toggle",
    "metrics page",
];
const TOOLS: [&str; 20] = [
    "Redis",
    "Postgres",
    "SQLite",
    "Tokio",
    "Axum",
    "Vite",
    "Svelte",
    "Terraform",
    "Nginx",
    "Kafka",
    "RabbitMQ",
    "Playwright",
    "Sentry",
    "Grafana",
    "Docker",
    "Helm",
    "Protobuf",
    "GraphQL",
    "Elasticsearch",
    "Cloudflare",
];
const TROUBLES: [&str; 16] = [
    "hangs after a restart",
    "loses the last line",
    "answers twice",
    "shows yesterday's numbers",
    "runs out of memory",
    "refuses valid input",
    "forgets the time zone",
    "locks the table",
    "skips empty rows",
    "breaks on Windows",
    "sends nothing at night",
    "sorts by the wrong column",
    "leaks a handle",
    "fails only in CI",
    "blocks the main thread",
    "drops the connection",
];
const REASONS: [&str; 16] = [
    "the pool was too small",
    "the cache kept the old key",
    "nobody had read the changelog",
    "two jobs ran at once",
    "the certificate had run out",
    "the clock was an hour off",
    "a default had changed",
    "the index was missing",
    "the licence is too expensive",
    "the team knows it already",
    "it needs no server",
    "retries were not limited",
    "the parser read bytes as letters",
    "the header was case sensitive",
    "the disk was full",
    "the branch was stale",
];
const STEMS: [&str; 24] = [
    "order", "user", "token", "cart", "query", "event", "batch", "route", "cache", "sheet", "label", "stock", "image",
    "proxy", "audit", "price", "queue", "theme", "shift", "photo", "lease", "agent", "chunk", "badge",
];
const PARTS_KO: [&str; 16] = [
    "로그인 화면",
    "정산 작업",
    "검색창",
    "이미지 업로드",
    "세션 저장소",
    "보고서 생성기",
    "메일 큐",
    "가격표",
    "감사 기록",
    "가져오기 마법사",
    "푸시 발송기",
    "지도 화면",
    "권한 검사",
    "내보내기",
    "백업 스크립트",
    "배포 파이프라인",
];
const TROUBLES_KO: [&str; 12] = [
    "재시작 후 멈추는",
    "마지막 줄이 사라지는",
    "두 번 응답하는",
    "어제 숫자가 보이는",
    "메모리가 부족한",
    "정상 입력을 거부하는",
    "시간대가 틀리는",
    "테이블이 잠기는",
    "빈 행을 건너뛰는",
    "밤에 발송되지 않는",
    "연결이 끊기는",
    "정렬이 잘못되는",
];
const REASONS_KO: [&str; 12] = [
    "작은 커넥션 풀",
    "오래된 캐시 키",
    "동시에 돌던 두 작업",
    "만료된 인증서",
    "한 시간 틀린 시계",
    "바뀐 기본값",
    "빠진 인덱스",
    "비싼 라이선스",
    "제한 없는 재시도",
    "가득 찬 디스크",
    "잘못된 문자 인코딩",
    "대소문자를 가리는 헤더",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_determines_memories_and_three_in_ten_are_korean() {
        let taken = |seed| SyntheticCorpus::new(seed).take(2_000).collect::<Vec<_>>();
        assert_eq!(taken(1), taken(1));
        assert_ne!(taken(1), taken(2));
        let korean = taken(1).iter().filter(|memory| memory.is_korean).count();
        assert!((500..700).contains(&korean), "{korean}");
    }
}
