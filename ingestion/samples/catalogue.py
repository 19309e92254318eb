"""The sample knowledge base of a made-up company, Polaris Instruments 北辰仪器: what to load at first start.

Plain values, no ORM: collections, the documents in them (files beside this module, in `files/`), and questions
the ask page may offer while it is empty. All texts are the project's own.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

FILES = Path(__file__).parent / "files"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleCollection:
    """`restricted`: only its creator may see it; otherwise every user may."""

    key: str
    name: str
    description: str
    restricted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDocument:
    """One file and its metadata. `collection` is a SampleCollection.key, `language` is en or zh."""

    file: str
    collection: str
    title: str
    language: str
    doc_type: str
    department: str
    security_level: str
    tags: tuple[str, ...]
    modified_at: datetime

    @property
    def path(self) -> Path:
        return FILES / self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleQuestion:
    """A question in `language`, the file that answers it and words of the answer as they stand in that file.

    A file in the other language than the question makes it a question across languages.
    """

    text: str
    language: str
    file: str
    answer: str


COLLECTIONS: tuple[SampleCollection, ...] = (
    SampleCollection(
        key="products",
        name="Products & manuals 产品与手册",
        description="Manuals, calibration, warranty and release notes of our instruments. 仪器手册、校准规程、保修与固件说明。",
    ),
    SampleCollection(
        key="policies",
        name="员工手册 Policies",
        description="入职、采购、安全与远程办公等制度。How we work: joining, purchasing, safety, remote work, courses.",
    ),
    SampleCollection(
        key="it",
        name="IT help desk 信息技术",
        description="VPN, accounts, information security and data retention. VPN、账号、信息安全与数据保存。",
    ),
    SampleCollection(
        key="compensation",
        name="薪酬 Compensation",
        description="薪酬等级与调薪，仅限授权人员。Salary bands and reviews, for authorised people only.",
        restricted=True,
    ),
)

DOCUMENTS: tuple[SampleDocument, ...] = (
    SampleDocument(
        file="pl-300-user-manual.pdf",
        collection="products",
        title="PL-300 Spectrometer User Manual",
        language="en",
        doc_type="manual",
        department="Product Management",
        security_level="public",
        tags=("PL-300", "spectrometer", "error codes"),
        modified_at=datetime(2026, 3, 12, 9, 0, tzinfo=UTC),
    ),
    SampleDocument(
        file="c-20-maintenance.zh.pdf",
        collection="products",
        title="C-20 台式高速离心机维护手册",
        language="zh",
        doc_type="manual",
        department="售后服务部",
        security_level="public",
        tags=("C-20", "离心机", "故障代码"),
        modified_at=datetime(2026, 4, 8, 2, 30, tzinfo=UTC),
    ),
    SampleDocument(
        file="warranty-and-returns.docx",
        collection="products",
        title="Warranty and Returns Policy",
        language="en",
        doc_type="policy",
        department="Customer Service",
        security_level="public",
        tags=("warranty", "returns"),
        modified_at=datetime(2025, 12, 15, 8, 0, tzinfo=UTC),
    ),
    SampleDocument(
        file="firmware-v2.3.1-release-notes.md",
        collection="products",
        title="PL-300 firmware v2.3.1: release notes",
        language="en",
        doc_type="release notes",
        department="Software",
        security_level="public",
        tags=("PL-300", "firmware"),
        modified_at=datetime(2026, 8, 18, 7, 0, tzinfo=UTC),
    ),
    SampleDocument(
        file="calibration-sop.zh.html",
        collection="products",
        title="PL-300 光谱仪校准标准操作规程",
        language="zh",
        doc_type="procedure",
        department="质量部",
        security_level="internal",
        tags=("PL-300", "校准", "SOP"),
        modified_at=datetime(2026, 2, 10, 1, 0, tzinfo=UTC),
    ),
    SampleDocument(
        file="onboarding.zh.md",
        collection="policies",
        title="新员工入职与转正指南",
        language="zh",
        doc_type="guide",
        department="人力资源部",
        security_level="internal",
        tags=("入职", "转正"),
        modified_at=datetime(2026, 5, 6, 3, 0, tzinfo=UTC),
    ),
    SampleDocument(
        file="purchase-approval.zh.pdf",
        collection="policies",
        title="采购审批权限表",
        language="zh",
        doc_type="policy",
        department="财务部",
        security_level="internal",
        tags=("采购", "审批"),
        modified_at=datetime(2026, 5, 28, 6, 0, tzinfo=UTC),
    ),
    SampleDocument(
        file="laboratory-waste.zh.html",
        collection="policies",
        title="实验室化学品与废液安全管理办法",
        language="zh",
        doc_type="policy",
        department="安全环保部",
        security_level="internal",
        tags=("安全", "废液", "化学品"),
        modified_at=datetime(2026, 1, 9, 2, 0, tzinfo=UTC),
    ),
    SampleDocument(
        file="remote-work-policy.html",
        collection="policies",
        title="Remote Work Policy",
        language="en",
        doc_type="policy",
        department="People & Learning",
        security_level="internal",
        tags=("remote work",),
        modified_at=datetime(2026, 3, 20, 8, 0, tzinfo=UTC),
    ),
    SampleDocument(
        file="courses-and-certification.docx",
        collection="policies",
        title="Courses and Certification: What the Company Pays",
        language="en",
        doc_type="policy",
        department="People & Learning",
        security_level="internal",
        tags=("courses", "certification", "expenses"),
        modified_at=datetime(2026, 1, 26, 8, 0, tzinfo=UTC),
    ),
    SampleDocument(
        file="vpn-help-desk-guide.md",
        collection="it",
        title="VPN: set-up and troubleshooting",
        language="en",
        doc_type="guide",
        department="IT",
        security_level="internal",
        tags=("VPN", "error codes"),
        modified_at=datetime(2026, 7, 14, 9, 0, tzinfo=UTC),
    ),
    SampleDocument(
        file="information-security.zh.docx",
        collection="it",
        title="信息安全管理制度",
        language="zh",
        doc_type="policy",
        department="信息技术部",
        security_level="internal",
        tags=("信息安全", "密码", "U 盘"),
        modified_at=datetime(2026, 2, 24, 4, 0, tzinfo=UTC),
    ),
    SampleDocument(
        file="data-retention-schedule.pdf",
        collection="it",
        title="Data Retention Schedule",
        language="en",
        doc_type="schedule",
        department="Information Management",
        security_level="internal",
        tags=("retention", "records"),
        modified_at=datetime(2026, 5, 15, 8, 0, tzinfo=UTC),
    ),
    SampleDocument(
        file="salary-bands-2026.zh.docx",
        collection="compensation",
        title="薪酬等级 2026",
        language="zh",
        doc_type="policy",
        department="人力资源部",
        security_level="confidential",
        tags=("薪酬", "调薪"),
        modified_at=datetime(2025, 12, 22, 2, 0, tzinfo=UTC),
    ),
)

QUESTIONS: tuple[SampleQuestion, ...] = (
    SampleQuestion(
        text="What does error E103 on the PL-300 mean?",
        language="en",
        file="pl-300-user-manual.pdf",
        answer="Wavelength motor does not reach home position",
    ),
    SampleQuestion(
        text="How long is the warranty on a C-20 centrifuge?",
        language="en",
        file="warranty-and-returns.docx",
        answer="36 months",
    ),
    SampleQuestion(
        text="The VPN shows error 809. What can I do?",
        language="en",
        file="vpn-help-desk-guide.md",
        answer="TCP 443",
    ),
    SampleQuestion(
        text="How many days per week may I work remotely?",
        language="en",
        file="remote-work-policy.html",
        answer="up to two days per week",
    ),
    SampleQuestion(
        text="How long do we keep calibration certificates?",
        language="en",
        file="data-retention-schedule.pdf",
        answer="12 years",
    ),
    SampleQuestion(
        text="Does the company pay for a second attempt at an examination?",
        language="en",
        file="courses-and-certification.docx",
        answer="A second attempt is paid at 50 percent",
    ),
    SampleQuestion(
        text="Which known problems does firmware v2.3.1 have?",
        language="en",
        file="firmware-v2.3.1-release-notes.md",
        answer="Network printers with IPv6-only addresses are not found",
    ),
    SampleQuestion(
        text="How often must the door seal of the C-20 centrifuge be replaced?",
        language="en",
        file="c-20-maintenance.zh.pdf",
        answer="每 12 个月",
    ),
    SampleQuestion(
        text="转正申请需要哪些材料？",
        language="zh",
        file="onboarding.zh.md",
        answer="转正申请表（HR-06）",
    ),
    SampleQuestion(
        text="密码多久更换一次？",
        language="zh",
        file="information-security.zh.docx",
        answer="密码每 180 天更换一次",
    ),
    SampleQuestion(
        text="离心机报 E201 怎么处理？",
        language="zh",
        file="c-20-maintenance.zh.pdf",
        answer="停机后重新配平离心管",
    ),
    SampleQuestion(
        text="采购危险化学品前要先做什么？",
        language="zh",
        file="purchase-approval.zh.pdf",
        answer="取得安全管理员的书面同意",
    ),
    SampleQuestion(
        text="废液在暂存间最多可以存放多少天？",
        language="zh",
        file="laboratory-waste.zh.html",
        answer="不超过 90 天",
    ),
    SampleQuestion(
        text="波长校准前仪器要预热多久？",
        language="zh",
        file="calibration-sop.zh.html",
        answer="预热不少于 60 分钟",
    ),
    SampleQuestion(
        text="客户的原始测量数据要保存多少年？",
        language="zh",
        file="data-retention-schedule.pdf",
        answer="5 years",
    ),
)
