"""Sentences of our own in many scripts, on which parity and agreement are measured."""

SENTENCES: tuple[str, ...] = (
    "The old lighthouse keeper counted the ships that passed before dawn.",
    "Am Abend stellte die Nachbarin drei Töpfe mit Kräutern vor die Tür.",
    "La niña dibujó un puente largo sobre el río y lo pintó de azul.",
    "Le boulanger a oublié les clés de sa boutique dans le train.",
    "Çocuklar okuldan sonra bahçedeki elma ağacının altında oturdular.",
    "Hàng xóm của tôi trồng rất nhiều hoa trước nhà.",
    "Вечером брат починил старый велосипед и поехал к реке.",
    "Сестра принесла з ринку свіжий хліб і мед.",
    "老师在黑板上写了三个问题,然后走出了教室。",
    "祖父は毎朝、庭で小さな鳥に餌をやっています。",
    "할머니는 시장에서 신선한 생선을 두 마리 샀다.",
    "كتب المهندس رسالة طويلة إلى صديقه في المدينة البعيدة.",
    "किसान ने सुबह खेत में पानी दिया और फिर बाज़ार गया।",
    "Η γιατρός διάβασε το βιβλίο δίπλα στη θάλασσα.",
    "הילדה מצאה מטבע ישן מתחת לשולחן במטבח.",
    "แม่ซื้อผลไม้จากตลาดใกล้บ้านทุกวันเสาร์",
    "மாலை நேரத்தில் மழை பெய்ததால் விளையாட்டு நின்றது.",
    "ბებიამ ბაღში ვარდები დარგო და მოგვიყვა ამბავი.",
)
